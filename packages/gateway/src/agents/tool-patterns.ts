import { compileNameGlob } from '@sallyport/core'
import { hasGlob, parseToolPart, type ServerAliases, splitCandidates, toServerId } from './server-aliases.ts'

/** The selected tools of one server, as names or globs. Exclusions take precedence. */
export interface ToolPatterns {
  readonly included: readonly string[]
  readonly excluded: readonly string[]
}

const ALL = '*'

/**
 * Compiles a selection for each of an agent's servers. An ambiguous word includes nothing, and excludes all that it may
 * match.
 */
export function compileToolPatterns(
  selection: readonly string[] | undefined,
  aliases: ServerAliases,
): (name: string) => ToolPatterns {
  if (selection === undefined) return () => ({ included: [ALL], excluded: [] })
  const servers = new Set([...aliases.values()].flat())
  const isWhole = (selector: string): boolean => servers.has(selector.replace(/^!/, ''))
  const words = selection.filter((selector) => !isWhole(selector))
  const inclusions = words.filter(
    (word) => !word.startsWith('!') && (hasGlob(word) || countMatchingServers(word, servers) === 1),
  )
  const exclusions = words.filter((word) => word.startsWith('!')).map((word) => word.slice(1))
  const whole = new Set(selection.filter(isWhole))
  return (name) => {
    const own = aliases.get(name) ?? [name]
    const allNames = [...new Set([...own, toServerId(name)])]
    const excluded = exclusions.flatMap((word) => findExcluded(word, allNames))
    if (excluded.includes(ALL) || allNames.some((word) => whole.has(`!${word}`)))
      return { included: [], excluded: [ALL] }
    const included = own.some((word) => whole.has(word)) ? [ALL] : inclusions.flatMap((word) => findIncluded(word, own))
    return { included: [...new Set(included)], excluded: [...new Set(excluded)] }
  }
}

/** How many servers the word may refer to: the name of a server can be a prefix of another one. */
function countMatchingServers(word: string, servers: ReadonlySet<string>): number {
  const starts = [...splitCandidates(word).map(([server]) => server), ...listServerPrefixes(word)]
  return starts.filter((server) => servers.has(server)).length
}

function listServerPrefixes(word: string): readonly string[] {
  if (!word.startsWith('mcp__')) return []
  const rest = word.slice('mcp__'.length)
  return [...rest.matchAll(/__/g)].map(({ index }) => rest.slice(0, index))
}

function findIncluded(word: string, own: readonly string[]): readonly string[] {
  if (!hasGlob(word)) return own.flatMap((server) => parseToolPart(word, server) ?? [])
  if (word.includes('/')) return matchSplits(word, own)
  if (word.startsWith('mcp__')) return own.flatMap((server) => parseToolPart(word, server) ?? [])
  return own.some(compileNameGlob(word)) ? [ALL] : []
}

function findExcluded(word: string, own: readonly string[]): readonly string[] {
  if (own.includes(word)) return [ALL]
  const tools = own.flatMap((server) => parseToolPart(word, server) ?? [])
  if (!hasGlob(word)) return [...tools, word]
  const whole = own.some(compileNameGlob(word)) ? [ALL] : []
  return [...tools, ...matchSplits(word, own), ...whole, word]
}

function matchSplits(word: string, own: readonly string[]): readonly string[] {
  return splitCandidates(word).flatMap(([server, tool]) =>
    tool !== '' && own.some(compileNameGlob(server)) ? [tool] : [],
  )
}

/** The intersection of all patterns; `undefined` if it is not a list of patterns, as for two different globs. */
export function intersectPatterns(all: readonly ToolPatterns[]): ToolPatterns | undefined {
  const excluded = [...new Set(all.flatMap((one) => one.excluded))]
  let included: readonly string[] = [ALL]
  for (const one of all) {
    const common = included.flatMap((a) => one.included.map((b) => intersectTwo(a, b)))
    if (common.includes(undefined)) return undefined
    included = [...new Set(common.flatMap((part) => part ?? []))]
  }
  return { included, excluded }
}

/** `undefined` if the intersection is not a pattern. */
function intersectTwo(a: string, b: string): readonly string[] | undefined {
  if (a === b || b === ALL) return [a]
  if (a === ALL) return [b]
  if (hasGlob(a) && hasGlob(b)) return undefined
  const [name, pattern] = hasGlob(a) ? [b, a] : [a, b]
  return hasGlob(pattern) && compileNameGlob(pattern)(name) ? [name] : []
}
