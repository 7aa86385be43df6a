import {
  isJsonDeeperThan,
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  type Permission,
  SallyportError,
} from '@sallyport/core'
import { ConnectorError } from '../connector-error.ts'
import { readOpenApiDocument, resolveReference } from './document.ts'
import { inlineSchema } from './inline-schema.ts'
import {
  buildInputSchema,
  isFormType,
  isJsonType,
  type Operation,
  type Parameter,
  permissionOf,
  type RequestBody,
  readOperations,
} from './operation.ts'

/** The description of an API, its address, and the limits of calls. */
export interface ApiSettings {
  /** JSON or YAML text, or the parsed object. */
  readonly spec: string | JsonObject
  /** Every call goes to a URL below this one, whatever the description says. */
  readonly baseUrl: string
  /** Sent with every call, and never shown: `{ authorization: 'Bearer …' }`. A function is called for each call. */
  readonly headers?: Readonly<Record<string, string>> | (() => Promise<Readonly<Record<string, string>>>)
  readonly timeoutMs?: number
  readonly maxBytes?: number
  /** Data sent to this API stays inside your organization, so its tools do not need CONNECT. */
  readonly isInternal?: boolean
}

/** One or more permissions, in the form that `server.tool` expects. */
type Permissions = readonly [Permission, ...Permission[]]

/** An operation of an API, in short. */
export interface ApiOperation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly permission: Permissions
}

/** An operation of an API, with its arguments and responses. */
export interface ApiOperationShape extends ApiOperation {
  /** A JSON Schema of the arguments. */
  readonly input: JsonObject
  /** The descriptions of the responses, by status. */
  readonly responses: JsonObject
}

/** The arguments for `server.tool(name, options, handler)`. */
export interface ApiTool {
  readonly name: string
  readonly options: {
    readonly description: string
    readonly permission: Permissions
    readonly input: JsonObject & { readonly type: 'object' }
  }
  readonly handler: (args: JsonObject, context: { readonly signal: AbortSignal }) => Promise<Json>
}

/** An HTTP API that is described by OpenAPI, ready to be called. */
export interface Api {
  listOperations(): readonly ApiOperation[]
  describeOperation(id: string): ApiOperationShape
  call(id: string, args?: JsonObject, options?: { readonly signal?: AbortSignal }): Promise<ApiResponse>
  /** One tool for each operation, or for the named ones. */
  tools(ids?: readonly string[]): readonly ApiTool[]
}

const DEFAULT_TIMEOUT_MS = 30_000
const DEFAULT_MAX_BYTES = 4 * 1024 * 1024
const MAX_REDIRECTS = 3

/** Reads the description of an API, without calling the API. */
export async function readApi(settings: ApiSettings): Promise<Api> {
  const base = readBaseUrl(settings.baseUrl)
  const document = await readOpenApiDocument(settings.spec)
  const operations = readOperations(document)
  const find = (id: string): Operation => operations.get(id) ?? throwUnknownOperation(id)
  const entry = (operation: Operation): ApiOperation => {
    const { id, method, path, summary } = operation
    const permission = permissionOf(operation)
    return { id, method, path, summary, permission: settings.isInternal ? [permission] : [permission, 'CONNECT'] }
  }
  const call: Api['call'] = async (id, args = {}, { signal } = {}) =>
    send(buildRequest(base, find(id), args), { base, settings, signal })
  const tool = (operation: Operation): ApiTool => ({
    name: operation.id,
    options: {
      description: operation.summary,
      permission: entry(operation).permission,
      input: { ...buildInputSchema(document, operation), type: 'object' },
    },
    handler: async (args, { signal }) => (await call(operation.id, args, { signal })).body,
  })
  return {
    listOperations: () => [...operations.values()].map(entry),
    describeOperation(id) {
      const operation = find(id)
      return {
        ...entry(operation),
        input: buildInputSchema(document, operation),
        responses: describeResponses(document, operation),
      }
    },
    call,
    tools: (ids) => (ids === undefined ? [...operations.values()] : ids.map(find)).map(tool),
  }
}

function readBaseUrl(baseUrl: string): URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (base === undefined || !/^https?:$/.test(base.protocol) || base.username !== '' || base.search !== '')
    throw new SallyportError('USAGE', 'The base address of an API is not usable.', {
      hint: 'Give https://host/path, without a user or a query; secrets belong in headers.',
    })
  return base
}

function describeResponses(document: JsonObject, { path, method }: Operation): JsonObject {
  const paths = document.paths as JsonObject
  const own = resolveReference(document, resolveReference(document, paths[path])?.[method])
  const responses = Object.entries(isJsonObject(own?.responses) ? own.responses : {})
  return Object.fromEntries(responses.map(([status, given]) => [status, describeResponse(document, given)]))
}

function describeResponse(document: JsonObject, given: Json | undefined): JsonObject {
  const { description, content } = resolveReference(document, given) ?? {}
  const kinds = Object.entries(isJsonObject(content) ? content : {}).map(([mimeType, media]) => [
    mimeType,
    { schema: inlineSchema(document, isJsonObject(media) ? media.schema : undefined) },
  ])
  return {
    ...(typeof description === 'string' && { description }),
    ...(kinds.length > 0 && { content: Object.fromEntries(kinds) }),
  }
}

function throwUnknownOperation(id: string): never {
  throw new ConnectorError(`There is no operation ${JSON.stringify(id.slice(0, 200))}. List the operations.`, {
    retryable: true,
  })
}

interface SendContext {
  readonly base: URL
  readonly settings: ApiSettings
  readonly signal: AbortSignal | undefined
}

async function send(request: ApiRequest, { base, settings, signal }: SendContext): Promise<ApiResponse> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, maxBytes = DEFAULT_MAX_BYTES, headers = {} } = settings
  const secrets = typeof headers === 'function' ? await headers() : headers
  // The author's headers come last, so that no argument can replace them.
  for (const [name, value] of Object.entries(secrets)) request.headers.set(name, value)
  const timeout = AbortSignal.timeout(timeoutMs)
  const signals = signal === undefined ? timeout : AbortSignal.any([timeout, signal])
  try {
    const response = await fetchWithRedirects(request, base, signals)
    return await readResponse(response, { maxBytes, hide: (text) => redactSecrets(text, secrets) })
  } catch (error) {
    if (error instanceof ConnectorError) throw error
    if (signal?.aborted) throw new ConnectorError('The call was cancelled.', { retryable: true })
    if (timeout.aborted)
      throw new ConnectorError(`The API did not answer within ${timeoutMs} ms.`, { retryable: false })
    // No cause: it may contain addresses and what was sent.
    throw new ConnectorError('The API cannot be reached.', { retryable: false })
  }
}

/** Redirects are followed only for reads, and only below the base, because the headers are sent along. */
async function fetchWithRedirects(request: ApiRequest, base: URL, signal: AbortSignal): Promise<Response> {
  let url = request.url
  for (let count = 0; ; count++) {
    const { method, headers, body } = request
    const response = await fetch(url, { method, headers, body: body ?? null, signal, redirect: 'manual' })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || location === null) return response
    await response.body?.cancel()
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined
    if (next === undefined || !isBelow(base, next) || !/^(?:GET|HEAD)$/.test(method) || count >= MAX_REDIRECTS)
      throw new ConnectorError(`The API answered ${response.status} with a redirect that is not followed.`, {
        retryable: false,
      })
    url = next
  }
}

/** An API that echoes its requests must not reveal the secrets, neither as they are nor encoded in JSON or URLs. */
function redactSecrets(text: string, headers: Readonly<Record<string, string>>): string {
  return Object.values(headers)
    .flatMap((value) => [value, value.replace(/^\S+\s+/, '')])
    .filter((secret) => secret.length >= 6)
    .flatMap(listEncodings)
    .reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text)
}

function listEncodings(secret: string): readonly string[] {
  const quoted = JSON.stringify(secret).slice(1, -1)
  return [secret, quoted, quoted.replaceAll('/', '\\/'), encodeURIComponent(Buffer.from(secret).toString())]
}

interface ApiRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: string | undefined
}

const retryableError = (message: string): ConnectorError => new ConnectorError(message, { retryable: true })

function buildRequest(base: URL, operation: Operation, args: JsonObject): ApiRequest {
  checkArgumentNames(operation, args)
  const given = operation.parameters.flatMap((parameter) => {
    const value = ownArgument(args, parameter.key)
    return value === undefined ? [] : [{ parameter, value }]
  })
  const at = (location: Parameter['location']) => given.filter(({ parameter }) => parameter.location === location)
  const headers = new Headers({ accept: 'application/json, */*;q=0.5' })
  for (const { parameter, value } of at('header')) setHeader(headers, parameter, value)
  const cookies = at('cookie').flatMap(({ parameter, value }) => formatPairs(parameter, value))
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '))
  const query = at('query').flatMap(({ parameter, value }) => formatPairs(parameter, value))
  const body = formatBody(operation.body, args)
  if (operation.body !== undefined && body !== undefined) headers.set('content-type', operation.body.mimeType)
  return { url: buildUrl(base, operation, { args, query }), method: operation.method.toUpperCase(), headers, body }
}

const ownArgument = (args: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(args, key) ? args[key] : undefined

function checkArgumentNames({ id, parameters, body }: Operation, args: JsonObject): void {
  const parts = [...parameters, ...(body === undefined ? [] : [body])]
  const missing = parts
    .filter(({ key, required }) => required && ownArgument(args, key) === undefined)
    .map(({ key }) => key)
  if (missing.length > 0) throw retryableError(`The operation ${id} needs: ${missing.join(', ')}.`)
  const unknown = Object.keys(args).filter((name) => !parts.some(({ key }) => key === name))
  if (unknown.length > 0)
    throw retryableError(
      `The operation ${id} does not take: ${unknown.join(', ').slice(0, 200)}. It takes: ${parts.map(({ key }) => key).join(', ')}.`,
    )
}

function setHeader(headers: Headers, parameter: Parameter, value: Json): void {
  try {
    headers.set(parameter.name, formatHeader(parameter, value))
  } catch (error) {
    if (error instanceof ConnectorError) throw error
    throw new ConnectorError(`${JSON.stringify(parameter.name)} is not a valid header name.`, { retryable: false })
  }
}

interface UrlParts {
  readonly args: JsonObject
  readonly query: readonly string[]
}

/** Whatever the document or an argument says, the URL stays below the base that the author gave. */
function buildUrl(base: URL, operation: Operation, { args, query }: UrlParts): URL {
  const path = operation.path.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const parameter = operation.parameters.find((each) => each.location === 'path' && each.name === name)
    const value = parameter === undefined ? undefined : ownArgument(args, parameter.key)
    if (parameter === undefined || value === undefined || value === null)
      throw new ConnectorError(`The path of ${operation.id} has no value for ${JSON.stringify(name)}.`, {
        retryable: false,
      })
    return formatPathParameter(parameter, value)
  })
  const start = resolveServer(base, operation.servers)
  const url = new URL(start)
  const full = `${start.pathname.replace(/\/$/, '')}${path}`
  // Set as a path, so that `//host` and `\host` are not read as hosts, and `?` and `#` are encoded.
  url.pathname = full
  url.search = query.join('&')
  // If there are fewer segments than were written, some of them were dots.
  if (!isBelow(base, url) || url.pathname.split('/').length !== full.split('/').length)
    throw new ConnectorError(`The path of ${operation.id} leads out of the API.`, { retryable: false })
  return url
}

/** Uses the document's own URL only if it is below the base: it may name a version (`/v2`), but not another host. */
function resolveServer(base: URL, servers: readonly string[]): URL {
  const [named] = servers
  if (named === undefined || named.includes('{') || !URL.canParse(named, base.href)) return base
  const server = new URL(named, base)
  return isBelow(base, server) ? server : base
}

function isBelow(base: URL, url: URL): boolean {
  const root = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`
  // Only the part after the base is checked, because the base may contain escapes of its own.
  const isInside = `${url.pathname}/`.startsWith(root) && !hasDotSegment(url.pathname.slice(root.length - 1))
  return url.origin === base.origin && url.username === '' && isInside
}

function formatBody(body: RequestBody | undefined, args: JsonObject): string | undefined {
  const value = body === undefined ? undefined : ownArgument(args, body.key)
  if (body === undefined || value === undefined) return undefined
  if (isJsonType(body.mimeType)) return JSON.stringify(value)
  if (isFormType(body.mimeType) && isJsonObject(value)) return formatForm(value)
  if (typeof value === 'string' && !body.mimeType.startsWith('multipart/')) return value
  throw new ConnectorError(`A body of the type ${body.mimeType} cannot be sent.`, { retryable: false })
}

function formatForm(fields: JsonObject): string {
  const form = new URLSearchParams()
  for (const [key, value] of Object.entries(fields))
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== undefined && item !== null)
        form.append(key, typeof item === 'object' ? JSON.stringify(item) : String(item))
  return form.toString()
}

const stringifyValue = (value: Json | undefined): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')

/** A lone surrogate cannot be encoded. */
const toWellFormed = (text: string): string => Buffer.from(text).toString()

const encodeValue = (value: Json | undefined): string => encodeURIComponent(toWellFormed(stringifyValue(value)))

const argumentError = (parameter: Parameter, why: string): ConnectorError =>
  new ConnectorError(`The argument ${JSON.stringify(parameter.key)} ${why}.`, { retryable: true })

/** Style `simple`: `a,b`, and `k,v` or `k=v` for an object. */
function formatSimple({ explode, isJson }: Parameter, value: Json, write: (value: Json | undefined) => string): string {
  if (isJson) return write(JSON.stringify(value))
  if (isJsonList(value)) return value.map(write).join(',')
  if (!isJsonObject(value)) return write(value)
  return Object.entries(value)
    .map(([key, inner]) => `${write(key)}${explode ? '=' : ','}${write(inner)}`)
    .join(',')
}

/** One value in a path. It stays inside its own segment, even if a server decodes slashes before routing. */
function formatPathParameter(parameter: Parameter, value: Json): string {
  if (parameter.style !== 'simple')
    throw argumentError(parameter, `has the style ${parameter.style}, which is not supported`)
  const text = formatSimple(parameter, value, encodeValue)
  if (text === '') throw argumentError(parameter, 'is empty, but is part of the path')
  if (hasDotSegment(formatSimple(parameter, value, stringifyValue)))
    throw argumentError(parameter, 'would lead to another path')
  return text
}

const MAX_DECODINGS = 5

/** Whether a server that decodes a path, once or repeatedly, may find a segment of dots in it. */
function hasDotSegment(path: string): boolean {
  let text = path
  for (let round = 0; round < MAX_DECODINGS; round++) {
    // Some servers remove everything after a semicolon.
    if (text.split(/[/\\]/).some((part) => /^\.\.?(?:;|$)/.test(part))) return true
    const decoded = text.replaceAll(/%(25|2e|2f|5c|3b)/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    if (decoded === text) return false
    text = decoded
  }
  return true
}

const DELIMITERS: Readonly<Record<string, string>> = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' }

/** The encoded pairs of a query or cookie parameter. */
function formatPairs(parameter: Parameter, value: Json): readonly string[] {
  const { name, style, explode, isJson } = parameter
  if (isJson) return [`${encodeValue(name)}=${encodeValue(JSON.stringify(value))}`]
  if (style === 'deepObject' && isJsonObject(value))
    return Object.entries(value).map(
      ([key, inner]) => `${encodeValue(name)}%5B${encodeValue(key)}%5D=${encodeValue(inner)}`,
    )
  const delimiter = DELIMITERS[style] ?? ','
  if (isJsonList(value))
    return explode
      ? value.map((item) => `${encodeValue(name)}=${encodeValue(item)}`)
      : [`${encodeValue(name)}=${value.map(encodeValue).join(delimiter)}`]
  if (!isJsonObject(value)) return [`${encodeValue(name)}=${encodeValue(value)}`]
  const pairs = Object.entries(value)
  return explode
    ? pairs.map(([key, inner]) => `${encodeValue(key)}=${encodeValue(inner)}`)
    : [
        `${encodeValue(name)}=${pairs.flatMap(([key, inner]) => [encodeValue(key), encodeValue(inner)]).join(delimiter)}`,
      ]
}

/** A header cannot contain line breaks or characters outside Latin-1. */
function formatHeader(parameter: Parameter, value: Json): string {
  const text = formatSimple(parameter, value, stringifyValue)
  if (!/^[\t\x20-\x7e\xa0-\xff]*$/.test(text))
    throw argumentError(parameter, 'has characters that a header cannot contain')
  return text
}

/** The response of an API. */
export interface ApiResponse {
  readonly status: number
  readonly mimeType: string
  /** A JSON value, a string, or for other content a note with its size. */
  readonly body: Json
  /** True if the response was longer than allowed. */
  readonly isCut: boolean
}

const MAX_ERROR_LENGTH = 500
/** JSON that is nested deeper stays a string: a result could not contain it as a value. */
const MAX_DEPTH = 400
const TEXT_TYPE = /^text\/|[/+](?:xml|yaml|javascript|x-www-form-urlencoded|x-ndjson)\s*(?:;|$)/i

/** Reads no more than allowed, whatever Content-Length says. */
async function readResponse(
  response: Response,
  { maxBytes, hide }: { readonly maxBytes: number; readonly hide: (text: string) => string },
): Promise<ApiResponse> {
  const mimeType = hide(response.headers.get('content-type') ?? '')
  const { bytes, isCut } = await readBytes(response, maxBytes)
  const isText = mimeType === '' || isJsonType(mimeType) || TEXT_TYPE.test(mimeType)
  const text = isText ? hide(new TextDecoder().decode(bytes)) : `${bytes.length} bytes of ${mimeType}`
  const whole = { status: response.status, mimeType, body: isCut ? text : parseIfJson(text, mimeType), isCut }
  if (!response.ok) throw responseError(response.status, text, hide(response.headers.get('retry-after') ?? ''))
  return whole
}

async function readBytes(
  response: Response,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const parts: Uint8Array[] = []
  let length = 0
  // Leaving the loop cancels the stream and closes the connection.
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    parts.push(part)
    length += part.length
    if (length > maxBytes) break
  }
  return { bytes: Buffer.concat(parts).subarray(0, maxBytes), isCut: length > maxBytes }
}

function parseIfJson(text: string, mimeType: string): Json {
  if (!isJsonType(mimeType) || isJsonDeeperThan(text, MAX_DEPTH)) return text
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** The caller can correct the request; other errors are up to the API or its operator. */
function responseError(status: number, text: string, later: string): ConnectorError {
  const isPassing = status === 429 || (status === 503 && later !== '')
  const wait =
    isPassing && later !== '' ? ` Try again after ${later.slice(0, 40)}${/^\d+$/.test(later) ? ' s' : ''}.` : ''
  const detail = text.trim().slice(0, MAX_ERROR_LENGTH)
  const isOfCaller = status >= 400 && status < 500 && status !== 401 && status !== 407
  return new ConnectorError(`The API answered ${status}${detail === '' ? '' : `: ${detail}`}.${wait}`, {
    retryable: isPassing || isOfCaller,
  })
}
