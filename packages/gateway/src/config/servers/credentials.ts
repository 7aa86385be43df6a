import { isSecretFieldName, looksRandom } from '@sallyport/core'

/** Variables that hold no credential, by their names. */
const NON_SECRET_VARIABLE =
  /^(?:HOME|USERPROFILE|PATH|PWD|USER|USERNAME|LOGNAME|SHELL|LANG|LC_\w+|TERM|TZ|TMP|TEMP|TMPDIR|HOSTNAME|NODE_ENV|XDG_\w+)$|_(?:PATH|DIR|ROOT|HOME|ENV|REGION|HOST|PORT|MODEL|VERSION|LEVEL|USER|NAME)$/i
const PATH = /^(?:~?\/|\.{1,2}\/|[A-Za-z]:[\\/])/
const AUTHORIZATION = /^(?:proxy-)?authorization$/i
const SCHEME = /^[\w-]+\s+/
/** What is shorter is found in ordinary words. */
const MIN_LENGTH = 8

/** What the configuration gives to a server, by the names it is given under. */
export interface ConfiguredValues {
  /** By the variable. */
  readonly fromVariables: ReadonlyMap<string, string>
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly url?: string | undefined
}

/**
 * The credentials among what a server is given, which nothing that it says may show: what came from a variable, unless
 * its name or its value says that it is something else, and what a header, a variable of its environment or a parameter
 * of its address holds whose name says that it is secret.
 */
export function findCredentials({ fromVariables, headers = {}, env = {}, url }: ConfiguredValues): readonly string[] {
  const variables = [...fromVariables].filter(([name, value]) => !isNotSecret(name, value)).map(([, value]) => value)
  const named = [...Object.entries(headers), ...Object.entries(env), ...listQueryParameters(url)]
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

const listQueryParameters = (url: string | undefined): readonly (readonly [string, string])[] =>
  url !== undefined && URL.canParse(url) ? [...new URL(url).searchParams] : []

/** What stands behind the scheme; of `Basic` the password too. */
function parseAuthorization(header: string): readonly string[] {
  const value = header.replace(SCHEME, '')
  if (!/^basic\s/i.test(header)) return [value]
  const [, ...password] = Buffer.from(value, 'base64').toString('utf8').split(':')
  return [value, password.join(':')]
}

/** Of an address such as `postgres://user:password@host`. */
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
