import { isJsonList, isJsonObject, type Json, type JsonObject, SallyportError, toCamelCase } from '@sallyport/core'

type Mask = (text: string) => string

/** The entry with its secrets masked, so that a person can read and edit the rest. */
export function maskEntry(entry: JsonObject, mask: Mask): JsonObject {
  return maskValue(entry, mask) as JsonObject
}

function maskValue(value: Json, mask: Mask): Json {
  if (typeof value === 'string') return mask(value)
  if (isJsonList(value)) return value.map((item) => maskValue(item, mask))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, maskValue(one ?? null, mask)]))
}

/** What a mask leaves of a secret. */
const MASKED = /•••|\[redacted: /

/** Puts the secrets back where a person left them masked. Throws INVALID_PARAMS for a mask anywhere else. */
export function restoreMasked(fields: JsonObject, entry: JsonObject, mask: Mask): JsonObject {
  const written = new Map(Object.entries(entry).map(([key, value]) => [toCamelCase(key), value]))
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      restoreValue({ path: key, value: value ?? null, now: written.get(toCamelCase(key)), mask }),
    ]),
  )
}

interface Restored {
  readonly path: string
  readonly value: Json
  /** As it is in the file. */
  readonly now: Json | undefined
  readonly mask: Mask
}

function restoreValue({ path, value, now, mask }: Restored): Json {
  if (typeof value === 'string') {
    if (typeof now === 'string' && mask(now) === value) return now
    if (!MASKED.test(value)) return value
    throw new SallyportError('INVALID_PARAMS', `The secret in ${path} is masked: it is not known which value it was.`, {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable.
      hint: 'Write the whole value again, or a reference to a variable such as ${NAME}.',
    })
  }
  if (isJsonList(value)) return restoreList({ path, value, now, mask })
  if (!isJsonObject(value)) return value
  const members = isJsonObject(now) ? now : {}
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      restoreValue({ path: `${path}.${key}`, value: one ?? null, now: members[key], mask }),
    ]),
  )
}

/** An item may have moved; of several with the same mask, the order says which is which. */
function restoreList({ path, value, now, mask }: Restored & { readonly value: readonly Json[] }): Json {
  const items = isJsonList(now) ? now.filter((item) => typeof item === 'string') : []
  return value.map((item, index) => {
    const at = items.findIndex((one) => mask(one) === item)
    const [next] = at < 0 ? [] : items.splice(at, 1)
    return restoreValue({ path: `${path}[${index}]`, value: item, now: next, mask })
  })
}
