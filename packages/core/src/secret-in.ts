import { ALLOW, type Verdict } from './decide.ts'
import { findSecrets } from './find-secrets.ts'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { mayHideJson, secretsOfMember } from './redact-json.ts'
import { cutText, visibleText } from './visible-text.ts'

export interface PlacedSecret {
  readonly kind: string
  /** The way to it, as `headers.authorization` or `items[2]`. */
  readonly where: string
}

/** The first secret among arguments: in a text or a name, however deep, also in JSON within a text. */
export function secretIn(args: JsonObject): PlacedSecret | undefined {
  return inObject(args, '')
}

/** Refuses arguments that hold a secret, and says where and of what kind; never what it is. */
export function judgeSecrets(args: JsonObject | undefined): Verdict {
  const secret = args && secretIn(args)
  if (secret === undefined) return ALLOW
  const reason = `The arguments hold a secret (${secret.kind}, at ${secret.where}). Leave it out: a tool gets its keys from the configuration of its server, not from the caller.`
  return { outcome: 'deny', code: 'SECRET_REFUSED', reason }
}

function inValue(value: Json | undefined, where: string, name: string): PlacedSecret | undefined {
  if (typeof value === 'string') return inText(value, where, name)
  if (Array.isArray(value)) return firstOf(value, (item: Json, at) => inValue(item, `${where}[${at}]`, ''))
  return isJsonObject(value) ? inObject(value, where) : undefined
}

function inObject(object: JsonObject, where: string): PlacedSecret | undefined {
  return firstOf(Object.keys(object), (name) => {
    const [inName] = findSecrets(name)
    if (inName !== undefined) return { kind: inName.kind, where: where === '' ? 'a name' : `a name in ${where}` }
    return inValue(object[name], where === '' ? shown(name) : `${where}.${shown(name)}`, name)
  })
}

function inText(text: string, where: string, name: string): PlacedSecret | undefined {
  const [secret] = secretsOfMember(name, text)
  if (secret !== undefined) return { kind: secret.kind, where }
  return mayHideJson(text) ? inValue(JSON.parse(text) as Json, where, '') : undefined
}

function firstOf<Item, Found>(
  items: readonly Item[],
  look: (item: Item, at: number) => Found | undefined,
): Found | undefined {
  for (let at = 0; at < items.length; at++) {
    const found = look(items[at] as Item, at)
    if (found !== undefined) return found
  }
  return undefined
}

const shown = (name: string): string => visibleText(cutText(name, 60))
