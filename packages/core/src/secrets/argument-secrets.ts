import {
  findMemberSecrets,
  isDeeperThan,
  isEscapedJson,
  isJsonObject,
  type Json,
  type JsonObject,
  listJsonStrings,
} from '../json/json.ts'
import { ALLOW, type Verdict } from '../policy/decide.ts'
import { cutText, toVisibleText } from '../text/visible-text.ts'
import { findSecrets } from './find-secrets.ts'

export interface LocatedSecret {
  readonly kind: string
  /** Its location, such as `headers.authorization` or `items[2]`. */
  readonly where: string
}

/** The first secret in the arguments: in strings and keys at any depth, also in JSON inside a string. */
export function findArgumentSecret(args: JsonObject): LocatedSecret | undefined {
  const found = searchObject(args)
  if (found === undefined) return undefined
  const { kind, path, isName } = found
  if (!isName) return { kind, where: path }
  return { kind, where: path === '' ? 'a name' : `a name in ${path}` }
}

/** Refuses arguments that contain a secret. The reason names its location and kind, never the secret itself. */
export function checkSecrets(args: JsonObject | undefined): Verdict {
  const secret = args && findArgumentSecret(args)
  if (secret === undefined) return ALLOW
  const reason = `The arguments hold a secret (${secret.kind}, at ${secret.where}). Leave it out: a tool gets its keys from the configuration of its server, not from the caller.`
  return { outcome: 'deny', code: 'SECRET_REFUSED', reason }
}

/** A secret with its relative path. The path is built only after a secret was found, since most arguments have none. */
interface NestedSecret {
  readonly kind: string
  readonly path: string
  readonly isName: boolean
}

function searchValue(value: Json | undefined, name: string): NestedSecret | undefined {
  if (typeof value === 'string') return searchText(value, name)
  if (Array.isArray(value)) return searchList(value)
  return isJsonObject(value) ? searchObject(value) : undefined
}

function searchList(list: readonly Json[]): NestedSecret | undefined {
  for (let at = 0; at < list.length; at++) {
    const found = searchValue(list[at], '')
    if (found !== undefined) return prependStep(`[${at}]`, found)
  }
  return undefined
}

function searchObject(object: JsonObject): NestedSecret | undefined {
  for (const name of Object.keys(object)) {
    const [inName] = findSecrets(name)
    if (inName !== undefined) return { kind: inName.kind, path: '', isName: true }
    const found = searchValue(object[name], name)
    if (found !== undefined) return prependStep(toVisibleText(cutText(name, 60)), found)
  }
  return undefined
}

function searchText(text: string, name: string): NestedSecret | undefined {
  const [secret] = findMemberSecrets(name, text)
  if (secret !== undefined) return { kind: secret.kind, path: '', isName: false }
  return isEscapedJson(text) ? searchEscapedJson(text) : undefined
}

/** The maximum depth for JSON inside a string. Arguments themselves are never deeper. */
const MAX_DEPTH = 128

function searchEscapedJson(json: string): NestedSecret | undefined {
  const value = JSON.parse(json) as Json
  return (isDeeperThan(value, MAX_DEPTH) ? undefined : searchValue(value, '')) ?? searchStrings(json)
}

/** Searches at any depth, also below duplicate keys. It does not find the path. */
function searchStrings(json: string): NestedSecret | undefined {
  for (const { text, name, role } of listJsonStrings(json)) {
    const found = role === 'name' ? findSecrets(text)[0] : searchText(text, name)
    if (found !== undefined) return { kind: found.kind, path: '', isName: false }
  }
  return undefined
}

function prependStep(step: string, { kind, path, isName }: NestedSecret): NestedSecret {
  const dot = path === '' || path.startsWith('[') ? '' : '.'
  return { kind, path: `${step}${dot}${path}`, isName }
}
