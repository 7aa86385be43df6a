import type { JsonObject, ToolDefinition } from '@sallyport/core'
import type { ServerCatalog } from '../upstream/upstream.ts'

export const tool = (name: string, more: JsonObject = {}): ToolDefinition => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
})

/** The catalog of a server: tools by name, and further members. */
export function createCatalog(tools: readonly string[], more: Partial<ServerCatalog> = {}): ServerCatalog {
  return {
    era: 'legacy',
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: {},
    instructions: undefined,
    tools: tools.map((name) => tool(name)),
    resources: [],
    resourceTemplates: [],
    prompts: [],
    leftOut: [],
    ...more,
  }
}
