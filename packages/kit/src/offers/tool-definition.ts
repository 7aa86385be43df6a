import {
  type JsonObject,
  type McpParam,
  type Permission,
  type PermissionDeclaration,
  type Preset,
  readMcpParams,
  readPermissions,
  SallyportError,
  type ToolDefinition,
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
import { type Icon, iconsField } from './icon.ts'
import { assertNoIdentityFields } from './identity-fields.ts'
import { readOutputSchema, type ToolOutput } from './output-check.ts'

/** Hints that `permission` does not already give: it sets readOnlyHint and openWorldHint itself. */
export interface ToolAnnotations {
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
}

/** How a tool is described, what it takes and returns, and which permission it needs. */
export interface ToolOptions<Input extends Schema = Schema, Output extends Schema | PlainSchema = never> {
  readonly title?: string
  readonly description: string
  readonly permission: PermissionDeclaration
  /** Absent: the tool takes no arguments. */
  readonly input?: Input
  /** What its results are: a JSON Schema of anything, or a Standard Schema. */
  readonly output?: Output
  readonly annotations?: ToolAnnotations
  readonly icons?: readonly Icon[]
  /** The preset by which a large result is saved and shown in part. Absent: results pass as they are. */
  readonly result?: string
}

interface AnyToolOptions extends ToolOptions<Schema, Schema | PlainSchema> {
  /** Somebody else wrote it: its schema is taken as it is. */
  readonly isForeign?: boolean
}

/** Returns a string, any JSON value, or a whole result made with `toolResult`. */
export type ToolHandler<Arguments, Returned = unknown> = (args: Arguments, context: CallContext) => Returned

export interface Tool {
  readonly definition: ToolDefinition
  /** For clients of the legacy era, which know results that are objects only. */
  readonly legacyDefinition: ToolDefinition
  readonly permissions: readonly Permission[]
  readonly input: SchemaChecker
  readonly output: ToolOutput | undefined
  /** The arguments that HTTP repeats in headers. */
  readonly headerParams: readonly McpParam[]
  readonly handler: ToolHandler<JsonObject>
  /** How much of a result is shown. */
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
    throw new SallyportError('USAGE', `The input of the tool "${tool}" is no JSON Schema of an object.`, {
      hint: 'Give { type: "object", properties: { … } }, or a Standard Schema of an object.',
    })
  return input
}

function readHeaderParams(schema: JsonObject): readonly McpParam[] {
  const read = readMcpParams(schema)
  return 'params' in read ? read.params : []
}

/** What an author has to mend; a tool that somebody else wrote is taken as it is. */
export function assertValidTool({ definition: { name, inputSchema } }: Tool): void {
  const schema = inputSchema as JsonObject
  assertNoIdentityFields(name, schema)
  const read = readMcpParams(schema)
  if ('params' in read) return
  throw new SallyportError('USAGE', `The input of the tool "${name}" cannot be used over HTTP: ${read.problem}.`)
}

const formatPermission = (declared: unknown): string =>
  declared === undefined ? 'none' : String(JSON.stringify(declared))
