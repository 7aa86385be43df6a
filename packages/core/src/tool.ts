import type { JsonObject } from './json/json.ts'

/** The identity of a tool. A name is only one way to write this pair. */
export interface ToolRef {
  readonly server: string
  readonly tool: string
}

/** A tool as its server defined it. Unknown fields are preserved. */
export interface ToolDefinition extends JsonObject {
  readonly name: string
  readonly description?: string
  readonly inputSchema: JsonObject
}

/** The server id under which the gateway's own tools are listed. */
export const BUILT_IN_SERVER = 'sallyport'

/** The name used in tools.yaml, the audit log, hooks and the UI. It is looked up, never parsed. */
export function canonicalName(ref: ToolRef): string {
  return `mcp__${ref.server}__${ref.tool}`
}
