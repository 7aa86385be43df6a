import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { ConnectorError } from '../connector-error.ts'
import { isFormType, isJsonType, type Operation, type Parameter, type RequestBody } from './operation.ts'
import { formatHeader, formatPairs, formatPathParameter, hasDotSegment } from './parameter-text.ts'

export interface ApiRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: string | undefined
}

const retryableError = (message: string): ConnectorError => new ConnectorError(message, { retryable: true })

export function buildRequest(base: URL, operation: Operation, args: JsonObject): ApiRequest {
  checkArgumentNames(operation, args)
  const given = operation.parameters.flatMap((parameter) => {
    const value = ownArgument(args, parameter.key)
    return value === undefined ? [] : [{ parameter, value }]
  })
  const at = (place: Parameter['location']) => given.filter(({ parameter }) => parameter.location === place)
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
    throw new ConnectorError(`${JSON.stringify(parameter.name)} is no name for a header.`, { retryable: false })
  }
}

interface UrlParts {
  readonly args: JsonObject
  readonly query: readonly string[]
}

/** Whatever the document or an argument says, the address stays below the base that the author gave. */
function buildUrl(base: URL, operation: Operation, { args, query }: UrlParts): URL {
  const path = operation.path.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const parameter = operation.parameters.find((known) => known.location === 'path' && known.name === name)
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
  // As a path, so that `//host` and `\host` are no hosts; what is left of `?` and `#` is encoded by it.
  url.pathname = full
  url.search = query.join('&')
  // Fewer segments than were written: some of them were dots.
  if (!isBelow(base, url) || url.pathname.split('/').length !== full.split('/').length)
    throw new ConnectorError(`The path of ${operation.id} leads out of the API.`, { retryable: false })
  return url
}

/** The document's own address only if it is below the base: it may name a version (`/v2`), but no other host. */
function resolveServer(base: URL, servers: readonly string[]): URL {
  const [named] = servers
  if (named === undefined || named.includes('{') || !URL.canParse(named, base.href)) return base
  const server = new URL(named, base)
  return isBelow(base, server) ? server : base
}

export function isBelow(base: URL, url: URL): boolean {
  const root = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`
  // What follows the base, for it may have escapes of its own.
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
