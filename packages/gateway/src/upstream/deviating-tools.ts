import { sameJson, type ToolDefinition } from '@sallyport/core'

/** Tools that another process of the same server defines otherwise: it may be of another version. */
export function findDifferingTools(
  known: readonly ToolDefinition[],
  others: readonly ToolDefinition[],
): readonly ToolDefinition[] {
  const byName = new Map(known.map((tool) => [tool.name, tool]))
  return others.filter((tool) => {
    const own = byName.get(tool.name)
    return own !== undefined && !sameJson(withoutMeta(own), withoutMeta(tool))
  })
}

/** No model reads `_meta`, and it may be another in each process. */
const withoutMeta = (tool: ToolDefinition) => ({ ...tool, _meta: undefined })
