import type { JsonObject } from './json/json.ts'

/** The identity of a tool: always this pair. A name is only one way to write it down. */
export interface ToolRef {
  readonly server: string
  readonly tool: string
}

/** A tool as its server defined it. Fields that we do not know stay untouched. */
export interface ToolDefinition extends JsonObject {
  readonly name: string
  readonly description?: string
  readonly inputSchema: JsonObject
}

/** The server id under which the gateway's own tools are listed. */
export const BUILT_IN_SERVER = 'sallyport'

/** The form used in tools.yaml, the audit, hooks and the UI. It is written, looked up, and never parsed. */
export function canonicalName(ref: ToolRef): string {
  return `mcp__${ref.server}__${ref.tool}`
}
