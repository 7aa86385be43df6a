import { isJsonList, isJsonObject, type Json, type JsonObject, type Permission } from '@sallyport/core'
import { resolveReference } from './document.ts'
import { inlineSchema } from './inline-schema.ts'

export const PARAMETER_LOCATIONS = ['path', 'query', 'header', 'cookie'] as const
export type ParameterLocation = (typeof PARAMETER_LOCATIONS)[number]

export interface Parameter {
  /** The name of the argument. It differs from `name` only if two locations use the same name. */
  readonly key: string
  readonly name: string
  readonly location: ParameterLocation
  readonly required: boolean
  readonly style: string
  readonly explode: boolean
  /** The value is sent as JSON. */
  readonly isJson: boolean
  readonly description: string | undefined
  readonly schema: Json | undefined
}

export interface RequestBody {
  readonly key: string
  readonly mimeType: string
  readonly required: boolean
  readonly schema: Json | undefined
}

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly parameters: readonly Parameter[]
  readonly body: RequestBody | undefined
  /** The URLs that the document names for it. They are not trusted. */
  readonly servers: readonly string[]
}

const METHODS = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const
const SAFE_METHODS = new Set(['get', 'head', 'options'])
const MAX_OPERATIONS = 5_000
const MAX_TEXT_LENGTH = 1_000
/** The first three are not parameters by the OpenAPI specification; the others belong to the connection. */
const RESERVED_HEADERS = new Set(
  'accept content-type authorization host connection content-length transfer-encoding cookie upgrade te trailer expect'
    .split(' ')
    .concat('proxy-authorization', 'proxy-connection', 'keep-alive'),
)

export function readOperations(document: JsonObject): ReadonlyMap<string, Operation> {
  const operations = new Map<string, Operation>()
  for (const [path, item] of entriesOf(document.paths)) {
    const shared = resolveReference(document, item)
    for (const method of shared === undefined ? [] : METHODS) {
      const own = resolveReference(document, shared?.[method])
      if (own === undefined || !path.startsWith('/') || operations.size >= MAX_OPERATIONS) continue
      const id = uniqueName(operationName(own, method, path), operations)
      operations.set(id, readOperation(document, { id, method, path, own, shared: shared ?? {} }))
    }
  }
  return operations
}

export const permissionOf = ({ method }: Operation): Permission => (SAFE_METHODS.has(method) ? 'READ' : 'WRITE')

const entriesOf = (value: Json | undefined): readonly [string, Json | undefined][] =>
  isJsonObject(value) ? Object.entries(value) : []

const readShortText = (value: Json | undefined): string | undefined =>
  typeof value === 'string' ? value.slice(0, MAX_TEXT_LENGTH) : undefined

function operationName({ operationId }: JsonObject, method: string, path: string): string {
  const given = typeof operationId === 'string' && operationId !== '' ? operationId : `${method}${path}`
  return (
    given
      .replaceAll(/[^A-Za-z0-9_.-]+/g, '_')
      .replaceAll(/^_+|_+$/g, '')
      .slice(0, 100) || method
  )
}

function uniqueName(name: string, taken: { has(name: string): boolean }): string {
  if (!taken.has(name)) return name
  for (let count = 2; ; count++) if (!taken.has(`${name}_${count}`)) return `${name}_${count}`
}

interface OperationSource {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly own: JsonObject
  readonly shared: JsonObject
}

function readOperation(document: JsonObject, { id, method, path, own, shared }: OperationSource): Operation {
  const parameters = readParameters(document, [shared.parameters, own.parameters])
  const servers = [own.servers, shared.servers, document.servers].find((list) => isJsonList(list) && list.length > 0)
  return {
    id,
    method,
    path,
    summary:
      readShortText(own.summary) ??
      readShortText(own.description) ??
      `${method.toUpperCase()} ${path}`.slice(0, MAX_TEXT_LENGTH),
    parameters,
    body: readBody(document, own.requestBody, new Set(parameters.map(({ key }) => key))),
    servers: (isJsonList(servers) ? servers : []).flatMap((server) =>
      isJsonObject(server) && typeof server.url === 'string' ? [server.url] : [],
    ),
  }
}

/** Parameters of the operation replace those of the path with the same name and location. */
function readParameters(document: JsonObject, lists: readonly (Json | undefined)[]): readonly Parameter[] {
  const found = new Map<string, JsonObject>()
  for (const value of lists.flatMap((list) => (isJsonList(list) ? list : []))) {
    const parameter = resolveReference(document, value)
    if (parameter !== undefined && typeof parameter.name === 'string')
      found.set(`${parameter.in} ${parameter.name}`, parameter)
  }
  const keys = new Set<string>()
  return [...found.values()].flatMap((parameter) => {
    const location = PARAMETER_LOCATIONS.find((known) => known === parameter.in)
    const name = String(parameter.name)
    if (location === undefined || (location === 'header' && RESERVED_HEADERS.has(name.toLowerCase()))) return []
    const key = keys.has(name) ? uniqueName(`${location}_${name}`, keys) : name
    keys.add(key)
    return [readParameter(parameter, { key, name, location })]
  })
}

function readParameter(parameter: JsonObject, named: Pick<Parameter, 'key' | 'name' | 'location'>): Parameter {
  const style =
    readShortText(parameter.style) ?? (named.location === 'query' || named.location === 'cookie' ? 'form' : 'simple')
  const content = entriesOf(parameter.content)[0]?.[1]
  return {
    ...named,
    required: named.location === 'path' || parameter.required === true,
    style,
    explode: typeof parameter.explode === 'boolean' ? parameter.explode : style === 'form',
    isJson: content !== undefined,
    description: readShortText(parameter.description),
    schema: isJsonObject(content) ? content.schema : parameter.schema,
  }
}

function readBody(document: JsonObject, value: Json | undefined, taken: ReadonlySet<string>): RequestBody | undefined {
  const body = resolveReference(document, value)
  const kinds = entriesOf(body?.content)
  const [mimeType, content] =
    kinds.find(([kind]) => isJsonType(kind)) ?? kinds.find(([kind]) => isFormType(kind)) ?? kinds[0] ?? []
  if (mimeType === undefined) return undefined
  const schema = isJsonObject(content) ? content.schema : undefined
  return { key: uniqueName('body', taken), mimeType, required: body?.required === true, schema }
}

export const isJsonType = (mimeType: string): boolean => /^[\w.-]+\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(mimeType)
export const isFormType = (mimeType: string): boolean => /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(mimeType)

/** The arguments of an operation as one JSON Schema, for a tool or for an agent to read. */
export function buildInputSchema(document: JsonObject, { parameters, body }: Operation): JsonObject {
  const described = parameters.map(({ key, schema, description }): [string, JsonObject] => [
    key,
    { ...inlineSchema(document, schema), ...(description === undefined ? {} : { description }) },
  ])
  if (body !== undefined) described.push([body.key, inlineSchema(document, body.schema)])
  const required = [...parameters, ...(body === undefined ? [] : [body])].flatMap((part) =>
    part.required ? [part.key] : [],
  )
  return {
    type: 'object',
    properties: Object.fromEntries(described),
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
  }
}
