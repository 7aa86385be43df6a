import { isJsonList, isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import type { AuthOptions, GatewayAuthOptions, JwtOptions } from '../identity/identity.ts'
import { type KitConfigOptions, readKitConfig } from './kit-config.ts'

/** The settings of a kit server in `mcp_servers.<name>`, split by the function that they are for. */
export interface ServerConfig {
  readonly name: string
  /** For createMcpServer. Options that you spread after these override them. */
  readonly options: {
    readonly title?: string
    readonly version?: string
    readonly instructions?: string
    readonly auth?: AuthOptions
    readonly dev?: boolean
    readonly dataFolder?: string
  }
  /** For serveHttp. */
  readonly listen: {
    readonly host?: string
    readonly port: number
    readonly path?: string
    readonly allowedHosts?: readonly string[]
    readonly allowedOrigins?: readonly string[]
  }
}

const DEFAULT_PORT = 8000

/** Reads the settings of a kit server: an entry with `type: server`. */
export async function readServerConfig(name: string, options: KitConfigOptions = {}): Promise<ServerConfig> {
  const { file, kind, settings } = await readKitConfig(name, options)
  const where = `${file}: mcp_servers.${name}`
  if (kind !== 'server')
    throw new SallyportError('CONFIG_INVALID', `${where} is not a kit server.`, {
      hint: 'Add "type: server" to it.',
    })
  const read = new FieldReader(settings, where)
  return {
    name: read.string('name') ?? name,
    options: omitUndefined({
      title: read.string('title'),
      version: read.string('version'),
      instructions: read.string('instructions'),
      auth: readAuth(settings.auth, `${where}.auth`),
      dev: read.boolean('dev'),
      dataFolder: read.string('dataFolder'),
    }),
    listen: omitUndefined({
      host: read.string('host'),
      port: read.port('port') ?? DEFAULT_PORT,
      path: read.string('path'),
      allowedHosts: read.strings('allowedHosts'),
      allowedOrigins: read.strings('allowedOrigins'),
    }),
  }
}

function readAuth(auth: Json | undefined, where: string): AuthOptions | undefined {
  if (!isJsonObject(auth)) return undefined
  const { jwt, gateway } = auth
  if (jwt === undefined && gateway === undefined) throw invalidValue(where, 'jwt, gateway or both')
  return omitUndefined({
    jwt: jwt === undefined ? undefined : readJwt(jwt, `${where}.jwt`),
    gateway: gateway === undefined ? undefined : readGateway(gateway, `${where}.gateway`),
    resourceMetadata: new FieldReader(auth, where).string('resourceMetadata'),
  })
}

function readJwt(jwt: Json, where: string): JwtOptions {
  if (!isJsonObject(jwt)) throw invalidValue(where, 'a mapping')
  const read = new FieldReader(jwt, where)
  return omitUndefined({
    secret: read.string('secret'),
    jwksUri: read.string('jwksUri'),
    publicKey: read.string('publicKey'),
    algorithms: read.strings('algorithms'),
    issuers: read.strings('issuers'),
    audience: typeof jwt.audience === 'string' ? jwt.audience : read.strings('audience'),
    clockTolerance: typeof jwt.clockTolerance === 'number' ? jwt.clockTolerance : read.string('clockTolerance'),
    maxAge: typeof jwt.maxAge === 'number' ? jwt.maxAge : read.string('maxAge'),
  })
}

function readGateway(gateway: Json, where: string): true | GatewayAuthOptions {
  if (gateway === true) return true
  if (!isJsonObject(gateway)) throw invalidValue(where, 'true or a mapping')
  const read = new FieldReader(gateway, where)
  return omitUndefined({
    keys: isJsonObject(gateway.keys) ? gateway.keys : read.string('keys'),
    jwksUri: read.string('jwksUri'),
    audience: read.string('audience'),
    secret: read.string('secret'),
  })
}

/** Reads the values of one mapping. Messages contain the location and what was expected, never the value, which may be a secret. */
class FieldReader {
  readonly #values: JsonObject
  readonly #where: string

  constructor(values: JsonObject, where: string) {
    this.#values = values
    this.#where = where
  }

  string(key: string): string | undefined {
    const value = this.#values[key]
    if (value === undefined || (typeof value === 'string' && value !== '')) return value
    throw invalidValue(`${this.#where}.${key}`, 'a string; put it in quotes if it looks like a number')
  }

  strings(key: string): readonly string[] | undefined {
    const value = this.#values[key]
    if (value === undefined) return undefined
    if (isJsonList(value) && value.every((item) => typeof item === 'string')) return value as readonly string[]
    throw invalidValue(`${this.#where}.${key}`, 'a list of strings')
  }

  boolean(key: string): boolean | undefined {
    const value = this.#values[key]
    if (value === undefined) return undefined
    if (value === true || value === 'true') return true
    if (value === false || value === 'false') return false
    throw invalidValue(`${this.#where}.${key}`, 'true or false')
  }

  /** A variable is always a string, so a string of digits is accepted. */
  port(key: string): number | undefined {
    const value = this.#values[key]
    if (value === undefined) return undefined
    const port = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value
    if (typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= 65_535) return port
    throw invalidValue(`${this.#where}.${key}`, 'a whole number from 0 to 65535')
  }
}

/** Removes keys whose value is `undefined`, so that a spread overrides nothing with them. */
const omitUndefined = <Values extends object>(
  values: Values,
): { [Key in keyof Values]: Exclude<Values[Key], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never

const invalidValue = (where: string, what: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', `${where} has an invalid value: expected ${what}.`, {
    hint: 'Correct the file.',
  })
