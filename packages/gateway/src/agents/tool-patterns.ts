import { compileNameGlob } from '@sallyport/core'
import { hasGlob, parseToolPart, type ServerAliases, splitCandidates, toServerId } from './server-aliases.ts'

/** What is selected of one server: names of tools, or globs of them. What is taken away wins. */
export interface ToolPatterns {
  readonly included: readonly string[]
  readonly excluded: readonly string[]
}

const ALL = '*'

/** What a selection says of each of an agent's servers. A doubtful word adds nothing and takes away all that it may mean. */
export function compileToolPatterns(
  selection: readonly string[] | undefined,
  writings: ServerAliases,
): (name: string) => ToolPatterns {
  if (selection === undefined) return () => ({ included: [ALL], excluded: [] })
  const servers = new Set([...writings.values()].flat())
  const isWhole = (selector: string): boolean => servers.has(selector.replace(/^!/, ''))
  const words = selection.filter((selector) => !isWhole(selector))
  const adding = words.filter(
    (word) => !word.startsWith('!') && (hasGlob(word) || countMatchingServers(word, servers) === 1),
  )
  const taking = words.filter((word) => word.startsWith('!')).map((word) => word.slice(1))
  const whole = new Set(selection.filter(isWhole))
  return (name) => {
    const own = writings.get(name) ?? [name]
    const either = [...new Set([...own, toServerId(name)])]
    const takes = taking.flatMap((word) => findExcluded(word, either))
    if (takes.includes(ALL) || either.some((word) => whole.has(`!${word}`))) return { included: [], excluded: [ALL] }
    const adds = own.some((word) => whole.has(word)) ? [ALL] : adding.flatMap((word) => findIncluded(word, own))
    return { included: [...new Set(adds)], excluded: [...new Set(takes)] }
  }
}

/** How many servers it may be a tool of: a name of a server can be the beginning of another's. */
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

/** What all of them leave. Undefined where no list of patterns says that: of two globs the common part is none. */
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

/** Undefined: it cannot be said. */
function intersectTwo(a: string, b: string): readonly string[] | undefined {
  if (a === b || b === ALL) return [a]
  if (a === ALL) return [b]
  if (hasGlob(a) && hasGlob(b)) return undefined
  const [name, pattern] = hasGlob(a) ? [b, a] : [a, b]
  return hasGlob(pattern) && compileNameGlob(pattern)(name) ? [name] : []
}
