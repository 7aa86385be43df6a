import { isJsonObject, type Json, type JsonObject, type Permission, SallyportError } from '@sallyport/core'
import { ConnectorError } from '../connector-error.ts'
import { readOpenApiDocument, resolveReference } from './document.ts'
import { inlineSchema } from './inline-schema.ts'
import { buildInputSchema, type Operation, permissionOf, readOperations } from './operation.ts'
import { type ApiRequest, buildRequest, isBelow } from './request.ts'
import { type ApiResponse, readResponse } from './response.ts'

/** The description of an API, its address, and the limits of calls. */
export interface ApiSettings {
  /** JSON or YAML text, or the object that it means. */
  readonly spec: string | JsonObject
  /** Every call goes below this address, whatever the description says. */
  readonly baseUrl: string
  /** Sent with every call, and never shown: `{ authorization: 'Bearer …' }`. A function is asked for each call. */
  readonly headers?: Readonly<Record<string, string>> | (() => Promise<Readonly<Record<string, string>>>)
  readonly timeoutMs?: number
  readonly maxBytes?: number
  /** Sending to it takes nothing out of the house: its tools do not need CONNECT. */
  readonly isInternal?: boolean
}

/** One or more, as `server.tool` wants them. */
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
  /** What is said of the answers, by status. */
  readonly responses: JsonObject
}

/** What `server.tool(name, options, handler)` takes. */
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
  /** One tool for each operation, or for those that are named. */
  tools(ids?: readonly string[]): readonly ApiTool[]
}

const DEFAULT_TIMEOUT_MS = 30_000
const DEFAULT_MAX_BYTES = 4 * 1024 * 1024
const MAX_REDIRECTS = 3

/** Reads the description of an API; nothing is called yet. */
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
      hint: 'Give https://host/path, without a user or a query; what is secret belongs in headers.',
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
  // The author's come last: no argument can replace them.
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
    // No cause: it may hold addresses and what was sent.
    throw new ConnectorError('The API cannot be reached.', { retryable: false })
  }
}

/** Redirects are followed for reading only, and only below the base: the headers would go with them. */
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
      throw new ConnectorError(`The API answered ${response.status} and points elsewhere, which is not followed.`, {
        retryable: false,
      })
    url = next
  }
}

/** An API that echoes its requests must not show what it was given, as it was or as JSON and addresses write it. */
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
