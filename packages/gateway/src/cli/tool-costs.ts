import { compileSelectors, type ToolRef } from '@sallyport/core'

/** A tool, and the tokens that its definition costs an agent. */
export interface CountedTool extends ToolRef {
  /** The name that clients use. */
  readonly name: string
  readonly tokens: number
  readonly offered: boolean
}

export interface Cost {
  readonly tools: number
  readonly tokens: number
}

export interface ServerCost extends Cost {
  readonly server: string
}

export interface ProfileCost extends Cost {
  readonly profile: string
  /** The limit that the costs should not exceed, if one is set. */
  readonly tokenBudget?: number
}

/** The costs of the offered tools for an agent in every turn, the most expensive first. */
export interface ToolCosts extends Cost {
  readonly byServer: readonly ServerCost[]
  readonly byTool: readonly (ToolRef & { readonly tokens: number })[]
}

export function calculateToolCosts(tools: readonly CountedTool[]): ToolCosts {
  const shown = tools.filter(({ offered }) => offered)
  const servers = [...new Set(shown.map(({ server }) => server))]
  const byServer = servers.map((server) => ({ server, ...sumCost(shown.filter((tool) => tool.server === server)) }))
  const byTool = shown.map(({ server, tool, tokens }) => ({ server, tool, tokens }))
  return { ...sumCost(shown), byServer: sortByTokens(byServer), byTool: sortByTokens(byTool) }
}

interface SelectingProfile {
  readonly name: string
  readonly selectedMcpTools?: readonly string[] | undefined
  readonly tokenBudget?: number | undefined
}

export function calculateProfileCosts(
  profiles: readonly SelectingProfile[],
  tools: readonly CountedTool[],
): readonly ProfileCost[] {
  const costs = profiles.map(({ name: profile, selectedMcpTools, tokenBudget }) => {
    const shown = selectedTools(selectedMcpTools, tools).filter(({ offered }) => offered)
    return { profile, ...sumCost(shown), ...(tokenBudget !== undefined && { tokenBudget }) }
  })
  return sortByTokens(costs)
}

/** The tools that a profile selects. */
export function selectedTools(
  selectors: readonly string[] | undefined,
  tools: readonly CountedTool[],
): readonly CountedTool[] {
  const wireNames = new Map<ToolRef, string>(tools.map((tool) => [tool, tool.name]))
  const { includes } = compileSelectors(selectors, tools, { wireName: (ref) => wireNames.get(ref) })
  return tools.filter((tool) => includes(tool))
}

function sumCost(tools: readonly { readonly tokens: number }[]): Cost {
  return { tools: tools.length, tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0) }
}

const sortByTokens = <Costing extends { readonly tokens: number }>(ones: readonly Costing[]): Costing[] =>
  [...ones].sort((a, b) => b.tokens - a.tokens)
