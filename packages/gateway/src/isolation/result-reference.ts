import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { resultValue } from './result-text.ts'

/** What a sub-agent hands over: a whole result that it points at, or a value. */
export type Handed =
  | { readonly kind: 'result'; readonly result: JsonObject; readonly asValue: Json | undefined }
  | { readonly kind: 'value'; readonly value: Json }

/** Follows `{"$result": "r1"}`, with a `path` into JSON; anything else is itself. Says what is wrong with a reference. */
export function findHanded(output: Json, results: ReadonlyMap<string, JsonObject>): Handed | string {
  if (!isJsonObject(output) || !Object.hasOwn(output, '$result')) return { kind: 'value', value: output }
  const { $result: id, path } = output
  const result = typeof id === 'string' ? results.get(id) : undefined
  if (result === undefined)
    return `There is no result ${JSON.stringify(id)}. There are: ${[...results.keys()].join(', ') || 'none yet'}.`
  const value = resultValue(result)
  if (path === undefined) return { kind: 'result', result, asValue: value }
  if (typeof path !== 'string') return 'Expected a path such as "$.rows[0].name".'
  const found = value === undefined ? undefined : jsonAt(value, path)
  return found === undefined
    ? `The result ${id} has nothing at ${JSON.stringify(path)}.`
    : { kind: 'value', value: found }
}

/** `$.rows[0].name`, `rows.0.name` or `/rows/0/name`. */
function jsonAt(value: Json, path: string): Json | undefined {
  const steps = path.startsWith('/')
    ? path
        .slice(1)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    : (path.match(/[^.[\]$"']+/g) ?? [])
  return steps.reduce<Json | undefined>((at, step) => {
    if (Array.isArray(at)) return /^\d+$/.test(step) ? at[Number(step)] : undefined
    return isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined
  }, value)
}
