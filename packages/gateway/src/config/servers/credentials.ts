import { isSecretFieldName, listSecretForms, looksRandom } from '@sallyport/core'
import type { ServerConfig } from '../settings.ts'

/** Names of variables that do not contain credentials. */
const NON_SECRET_VARIABLE =
  /^(?:HOME|USERPROFILE|PATH|PWD|USER|USERNAME|LOGNAME|SHELL|LANG|LC_\w+|TERM|TZ|TMP|TEMP|TMPDIR|HOSTNAME|NODE_ENV|XDG_\w+)$|_(?:PATH|DIR|ROOT|HOME|ENV|REGION|HOST|PORT|MODEL|VERSION|LEVEL|USER|NAME)$/i
const PATH = /^(?:~?\/|\.{1,2}\/|[A-Za-z]:[\\/])/
const AUTHORIZATION = /^(?:proxy-)?authorization$/i
const SCHEME = /^[\w-]+\s+/
/** Shorter values would also match parts of ordinary words. */
const MIN_LENGTH = 8

/** The values that the configuration passes to a server, by name. */
export interface ConfiguredValues {
  /** By name of the variable. */
  readonly fromVariables: ReadonlyMap<string, string>
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly urls?: readonly string[] | undefined
}

/**
 * Finds the credentials among the values that a server receives. They are removed from everything that the server sends.
 * A value from a variable is a credential unless its name or its content shows that it is something else. A header, an
 * environment variable or a query parameter is a credential if its name says so.
 */
export function findCredentials({
  fromVariables,
  headers = {},
  env = {},
  urls = [],
}: ConfiguredValues): readonly string[] {
  const variables = [...fromVariables].filter(([name, value]) => !isNotSecret(name, value)).map(([, value]) => value)
  const named = [...Object.entries(headers), ...Object.entries(env), ...urls.flatMap(listQueryParameters)]
    .filter(([name]) => isSecretFieldName(name))
    .map(([, value]) => value)
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    AUTHORIZATION.test(name) ? parseAuthorization(value) : [],
  )
  const values = [...variables, ...named, ...sent].flatMap((value) => [value, ...findPasswords(value)])
  return [...new Set(values)].filter((value) => value.trim().length >= MIN_LENGTH)
}

function isNotSecret(name: string, value: string): boolean {
  if (isSecretFieldName(name)) return false
  return NON_SECRET_VARIABLE.test(name) || isPlainPath(value) || isPlainUrl(value)
}

const isPlainPath = (value: string): boolean => PATH.test(value) && !value.split(/[\\/]/).some(looksRandom)

function isPlainUrl(value: string): boolean {
  if (!/^[a-z][\w+.-]*:\/\//i.test(value) || !URL.canParse(value)) return false
  const { password, search } = new URL(value)
  return password === '' && search === ''
}

const listQueryParameters = (url: string): readonly (readonly [string, string])[] =>
  URL.canParse(url) ? [...new URL(url).searchParams] : []

/** The part after the scheme, and for `Basic` also the password. */
function parseAuthorization(header: string): readonly string[] {
  const value = header.replace(SCHEME, '')
  if (!/^basic\s/i.test(header)) return [value]
  const [, ...password] = Buffer.from(value, 'base64').toString('utf8').split(':')
  return [value, password.join(':')]
}

/** The password of an address such as `postgres://user:password@host`. */
function findPasswords(value: string): readonly string[] {
  if (!value.includes('://') || !URL.canParse(value)) return []
  const { password } = new URL(value)
  return password === '' ? [] : [password, decode(password)]
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Values that must never be shown, also not in the server's own output, which may repeat what it received. */
export function collectSecrets(config: ServerConfig): readonly string[] {
  return listSecretForms([...config.fromVariables, ...listGivenValues(config)])
}

function listGivenValues(config: ServerConfig): readonly string[] {
  if ('command' in config) return Object.values(config.env)
  const { headers, url, urlIsolated = '' } = config
  return [...Object.values(headers), ...listQueryValues(url), ...listQueryValues(urlIsolated)]
}

/** API keys are sometimes sent in the query. */
const listQueryValues = (url: string): readonly string[] =>
  URL.canParse(url) ? [...new URL(url).searchParams.values()] : []
