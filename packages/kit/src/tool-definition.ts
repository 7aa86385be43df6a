import {
  type JsonObject,
  type PermissionDeclaration,
  readPermissions,
  SallyportError,
  type ToolDefinition,
} from '@sallyport/core'
import type { CallContext } from './call-context.ts'
import type { ArgumentsOf, InputSchema } from './input-schema.ts'

/** Hints that `permission` does not already give: it sets readOnlyHint and openWorldHint itself. */
export interface ToolAnnotations {
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
}

export interface ToolOptions<Schema extends InputSchema = InputSchema> {
  readonly title?: string
  readonly description: string
  readonly permission: PermissionDeclaration
  /** Absent: the tool takes no arguments. */
  readonly input?: Schema
  readonly annotations?: ToolAnnotations
}

/** Returns a text, any JSON value, or a whole ToolResult. */
export type ToolHandler<Arguments> = (args: Arguments, context: CallContext) => unknown

export interface Tool {
  readonly definition: ToolDefinition
  readonly input: InputSchema
  readonly handler: ToolHandler<JsonObject>
}

const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/
const NO_ARGUMENTS: InputSchema = { type: 'object', properties: {}, additionalProperties: false }

export function defineTool<Schema extends InputSchema>(
  name: string,
  options: ToolOptions<Schema>,
  handler: ToolHandler<ArgumentsOf<Schema>>,
): Tool {
  const permissions = readPermissions(options.permission)
  if (permissions === undefined)
    throw new SallyportError('USAGE', `The tool "${name}" has permission ${shown(options.permission)}.`, {
      hint: 'Expected READ, WRITE or CONNECT, or a list of them.',
    })
  if (!TOOL_NAME.test(name))
    throw new SallyportError('USAGE', `"${name}" cannot be the name of a tool.`, {
      hint: 'Use 1 to 128 letters, digits, "_", "-" or ".".',
    })
  const input: InputSchema = options.input ?? NO_ARGUMENTS
  if (input.type !== 'object')
    throw new SallyportError('USAGE', `The input of the tool "${name}" is no JSON Schema of an object.`, {
      hint: 'Give { type: "object", properties: { … } }.',
    })
  const annotations = {
    readOnlyHint: !permissions.includes('WRITE'),
    openWorldHint: permissions.includes('CONNECT'),
    ...options.annotations,
  }
  return {
    definition: {
      name,
      ...(options.title === undefined ? {} : { title: options.title }),
      description: options.description,
      inputSchema: input as JsonObject,
      annotations,
      _meta: { 'sallyport/permission': permissions },
    },
    input,
    // Sound because `checkArguments` runs first and ArgumentsOf says no more than it proves.
    handler: handler as unknown as ToolHandler<JsonObject>,
  }
}

const shown = (declared: unknown): string => (declared === undefined ? 'none' : String(JSON.stringify(declared)))
