import { ALLOW, type Verdict } from './decide.ts'
import { findSecrets } from './find-secrets.ts'
import {
  isDeeper,
  isJsonObject,
  type Json,
  type JsonObject,
  jsonTexts,
  mayHideJson,
  secretsOfMember,
} from './json/json.ts'
import { cutText, visibleText } from './visible-text.ts'

export interface PlacedSecret {
  readonly kind: string
  /** The way to it, as `headers.authorization` or `items[2]`. */
  readonly where: string
}

/** The first secret among arguments: in a text or a name, however deep, also in JSON within a text. */
export function secretIn(args: JsonObject): PlacedSecret | undefined {
  const found = inObject(args)
  if (found === undefined) return undefined
  const { kind, way, isName } = found
  if (!isName) return { kind, where: way }
  return { kind, where: way === '' ? 'a name' : `a name in ${way}` }
}

/** Refuses arguments that hold a secret, and says where and of what kind; never what it is. */
export function judgeSecrets(args: JsonObject | undefined): Verdict {
  const secret = args && secretIn(args)
  if (secret === undefined) return ALLOW
  const reason = `The arguments hold a secret (${secret.kind}, at ${secret.where}). Leave it out: a tool gets its keys from the configuration of its server, not from the caller.`
  return { outcome: 'deny', code: 'SECRET_REFUSED', reason }
}

/** A secret, and the way to it from where it was looked for: printed on the way back, since most arguments hold none. */
interface Found {
  readonly kind: string
  readonly way: string
  readonly isName: boolean
}

function inValue(value: Json | undefined, name: string): Found | undefined {
  if (typeof value === 'string') return inText(value, name)
  if (Array.isArray(value)) return inList(value)
  return isJsonObject(value) ? inObject(value) : undefined
}

function inList(list: readonly Json[]): Found | undefined {
  for (let at = 0; at < list.length; at++) {
    const found = inValue(list[at], '')
    if (found !== undefined) return under(`[${at}]`, found)
  }
  return undefined
}

function inObject(object: JsonObject): Found | undefined {
  for (const name of Object.keys(object)) {
    const [inName] = findSecrets(name)
    if (inName !== undefined) return { kind: inName.kind, way: '', isName: true }
    const found = inValue(object[name], name)
    if (found !== undefined) return under(visibleText(cutText(name, 60)), found)
  }
  return undefined
}

function inText(text: string, name: string): Found | undefined {
  const [secret] = secretsOfMember(name, text)
  if (secret !== undefined) return { kind: secret.kind, way: '', isName: false }
  return mayHideJson(text) ? inHidden(text) : undefined
}

/** How deep the way into JSON within a text is followed. Arguments themselves are no deeper. */
const MOST_LEVELS = 128

function inHidden(json: string): Found | undefined {
  const value = JSON.parse(json) as Json
  return (isDeeper(value, MOST_LEVELS) ? undefined : inValue(value, '')) ?? inTexts(json)
}

/** However deep it is, and also under a name that stands twice: only the way to it is not told. */
function inTexts(json: string): Found | undefined {
  for (const { text, name, role } of jsonTexts(json)) {
    const found = role === 'name' ? findSecrets(text)[0] : inText(text, name)
    if (found !== undefined) return { kind: found.kind, way: '', isName: false }
  }
  return undefined
}

function under(step: string, { kind, way, isName }: Found): Found {
  const dot = way === '' || way.startsWith('[') ? '' : '.'
  return { kind, way: `${step}${dot}${way}`, isName }
}
