import {
  type Era,
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  type McpParam,
  type Permission,
  type PermissionDeclaration,
  type Preset,
  readMcpParams,
  readPermissions,
  SallyportError,
  type ToolDefinition,
  wrapOutputSchema,
} from '@sallyport/core'
import type { CallContext } from '../call/call.ts'
import {
  type InputSchema,
  type PlainSchema,
  readForeignSchema,
  readSchema,
  type Schema,
  type SchemaChecker,
} from '../schema/schema.ts'
import { toJson } from '../to-json.ts'
import { OutputMismatchError } from '../tool-error.ts'
import { isWholeResult, type ToolResult, textContent, wrapNonObjectStructure } from '../tool-result.ts'
import { type Icon, iconsField } from './icon.ts'

/** Hints besides readOnlyHint and openWorldHint, which `permission` sets. */
export interface ToolAnnotations {
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
}

/** The description, the input and output schemas and the permission of a tool. */
export interface ToolOptions<Input extends Schema = Schema, Output extends Schema | PlainSchema = never> {
  readonly title?: string
  readonly description: string
  readonly permission: PermissionDeclaration
  /** If missing, the tool takes no arguments. */
  readonly input?: Input
  /** The schema of its results: any JSON Schema, or a Standard Schema. */
  readonly output?: Output
  readonly annotations?: ToolAnnotations
  readonly icons?: readonly Icon[]
  /** The preset for saving a large result and showing a part of it. If missing, results are returned unchanged. */
  readonly result?: string
}

interface AnyToolOptions extends ToolOptions<Schema, Schema | PlainSchema> {
  /** Somebody else wrote the tool: its schema is used unchanged. */
  readonly isForeign?: boolean
}

/** Returns a string, any JSON value, or a whole result made with `toolResult`. */
export type ToolHandler<Arguments, Returned = unknown> = (args: Arguments, context: CallContext) => Returned

export interface Tool {
  readonly definition: ToolDefinition
  /** For clients of the legacy era, which accept only results that are objects. */
  readonly legacyDefinition: ToolDefinition
  readonly permissions: readonly Permission[]
  readonly input: SchemaChecker
  readonly output: ToolOutput | undefined
  /** The arguments that HTTP repeats in headers. */
  readonly headerParams: readonly McpParam[]
  readonly handler: ToolHandler<JsonObject>
  /** How a large result is shown. */
  readonly preset?: Preset | undefined
}

const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/
const NO_ARGUMENTS: InputSchema = { type: 'object', properties: {}, additionalProperties: false }

export function defineTool(name: string, options: AnyToolOptions, handler: ToolHandler<JsonObject>): Tool {
  const permissions = readPermissions(options.permission)
  if (permissions === undefined)
    throw new SallyportError('USAGE', `The tool "${name}" has permission ${formatPermission(options.permission)}.`, {
      hint: 'Expected READ, WRITE or CONNECT, or a list of them.',
    })
  if (!TOOL_NAME.test(name))
    throw new SallyportError('USAGE', `"${name}" cannot be the name of a tool.`, {
      hint: 'Use 1 to 128 letters, digits, "_", "-" or ".".',
    })
  const input = readInput(name, options)
  const output = options.output === undefined ? undefined : readOutputSchema(name, options.output)
  const definition = {
    name,
    ...(options.title === undefined ? {} : { title: options.title }),
    description: options.description,
    inputSchema: input.json,
    ...(output === undefined ? {} : { outputSchema: output.json }),
    annotations: {
      ...options.annotations,
      readOnlyHint: !permissions.includes('WRITE'),
      openWorldHint: permissions.includes('CONNECT'),
    },
    ...iconsField(options.icons),
    _meta: { 'sallyport/permission': permissions },
  }
  const legacyDefinition =
    output?.wrappedSchema === undefined ? definition : { ...definition, outputSchema: output.wrappedSchema }
  const headerParams = readHeaderParams(input.json)
  return { definition, legacyDefinition, permissions, input, output, headerParams, handler }
}

function readInput(tool: string, { input: schema = NO_ARGUMENTS, isForeign }: AnyToolOptions): SchemaChecker {
  const input =
    isForeign && !('~standard' in schema)
      ? readForeignSchema(schema)
      : readSchema(schema, 'input', `the input of the tool "${tool}"`)
  if (input.json.type !== 'object')
    throw new SallyportError('USAGE', `The input of the tool "${tool}" is not a JSON Schema of an object.`, {
      hint: 'Give { type: "object", properties: { … } }, or a Standard Schema of an object.',
    })
  return input
}

function readHeaderParams(schema: JsonObject): readonly McpParam[] {
  const read = readMcpParams(schema)
  return 'params' in read ? read.params : []
}

/** Checks that the author must fix; a tool that somebody else wrote is used unchanged. */
export function assertValidTool({ definition: { name, inputSchema } }: Tool): void {
  const schema = inputSchema as JsonObject
  assertNoIdentityFields(name, schema)
  const read = readMcpParams(schema)
  if ('params' in read) return
  throw new SallyportError('USAGE', `The input of the tool "${name}" cannot be used over HTTP: ${read.problem}.`)
}

const formatPermission = (declared: unknown): string =>
  declared === undefined ? 'none' : String(JSON.stringify(declared))

const IDENTITY_FIELDS = new Set(['userid', 'sessionid'])
const APPLICATORS = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'dependentSchemas'] as const
const MAX_SCHEMA_DEPTH = 16

/** The token proves who calls. A tool that takes the user as an argument would trust whoever fills it in. */
function assertNoIdentityFields(tool: string, schema: JsonObject): void {
  const field = findIdentityField(schema, schema, 0)
  if (field === undefined) return
  throw new SallyportError('USAGE', `The input of the tool "${tool}" has an argument "${field}".`, {
    hint: 'Remove it, and call getUserId() or getSessionId() in the handler: they come from the verified token.',
  })
}

function findIdentityField(schema: Json | undefined, root: JsonObject, depth: number): string | undefined {
  if (!isJsonObject(schema) || depth > MAX_SCHEMA_DEPTH) return undefined
  const required: readonly unknown[] = isJsonList(schema.required) ? schema.required : []
  const names = [...Object.keys(isJsonObject(schema.properties) ? schema.properties : {}), ...required]
  const own = names.find(
    (name) => typeof name === 'string' && IDENTITY_FIELDS.has(name.toLowerCase().replace(/[^a-z0-9]/g, '')),
  )
  if (own !== undefined) return String(own)
  for (const part of listSubschemas(schema, root)) {
    const found = findIdentityField(part, root, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** The subschemas that apply to the same arguments. */
function listSubschemas(schema: JsonObject, root: JsonObject): readonly (Json | undefined)[] {
  const parts = APPLICATORS.flatMap((keyword): readonly (Json | undefined)[] => {
    const value = schema[keyword]
    if (keyword === 'dependentSchemas') return isJsonObject(value) ? Object.values(value) : []
    return isJsonList(value) ? value : [value]
  })
  return typeof schema.$ref === 'string' ? [...parts, resolveRef(schema.$ref, root)] : parts
}

function resolveRef(reference: string, root: JsonObject): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  let value: Json | undefined = root
  for (const part of reference.slice(1).split('/').slice(1)) {
    if (!isJsonObject(value)) return undefined
    value = value[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return value
}

/** The output schema of a tool. */
interface ToolOutput extends SchemaChecker {
  /** For clients of the legacy era, which accept only objects: the schema of an object around the result. Missing if the result is an object. */
  readonly wrappedSchema: JsonObject | undefined
}

function readOutputSchema(tool: string, schema: Schema | PlainSchema): ToolOutput {
  const output = readSchema(schema, 'output', `the output of the tool "${tool}"`)
  return { ...output, wrappedSchema: wrapOutputSchema(output.json) }
}

/** Converts a handler's return value to a result that matches its schema. Clients rely on it, so any other value throws. */
export async function createCheckedResult(returned: unknown, output: ToolOutput, era: Era): Promise<ToolResult> {
  const whole = isWholeResult(returned) ? returned : undefined
  if (whole?.isError === true) return era === 'legacy' ? wrapNonObjectStructure(whole) : whole
  const structured = whole === undefined ? returned : whole.structuredContent
  if (structured === undefined) throw new OutputMismatchError('The tool has an output schema and returned no value.')
  const checked = await output.check(toJson(structured))
  if ('wrong' in checked) throw new OutputMismatchError(`The result does not match the output schema: ${checked.wrong}`)
  const value = toJson(checked.value)
  const structuredContent = era === 'legacy' && output.wrappedSchema !== undefined ? { result: value } : value
  return { ...(whole ?? { content: [textContent(renderText(value))] }), structuredContent }
}

const renderText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))
