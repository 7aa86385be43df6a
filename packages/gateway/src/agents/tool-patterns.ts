import { nameGlob } from '@sallyport/core'
import { hasGlob, idOf, splits, toolIn, type Writings } from './server-writings.ts'

/** What is selected of one server: names of tools, or globs of them. What is taken away wins. */
export interface ToolPatterns {
  readonly adds: readonly string[]
  readonly takes: readonly string[]
}

const ALL = '*'

/** What a selection says of each of an agent's servers. A doubtful word adds nothing and takes away all that it may mean. */
export function createPatterns(
  selection: readonly string[] | undefined,
  writings: Writings,
): (name: string) => ToolPatterns {
  if (selection === undefined) return () => ({ adds: [ALL], takes: [] })
  const servers = new Set([...writings.values()].flat())
  const isWhole = (selector: string): boolean => servers.has(selector.replace(/^!/, ''))
  const words = selection.filter((selector) => !isWhole(selector))
  const adding = words.filter((word) => !word.startsWith('!') && (hasGlob(word) || claims(word, servers) === 1))
  const taking = words.filter((word) => word.startsWith('!')).map((word) => word.slice(1))
  const whole = new Set(selection.filter(isWhole))
  return (name) => {
    const own = writings.get(name) ?? [name]
    const either = [...new Set([...own, idOf(name)])]
    const takes = taking.flatMap((word) => takenBy(word, either))
    if (takes.includes(ALL) || either.some((word) => whole.has(`!${word}`))) return { adds: [], takes: [ALL] }
    const adds = own.some((word) => whole.has(word)) ? [ALL] : adding.flatMap((word) => addedBy(word, own))
    return { adds: [...new Set(adds)], takes: [...new Set(takes)] }
  }
}

/** How many servers it may be a tool of: a name of a server can be the beginning of another's. */
function claims(word: string, servers: ReadonlySet<string>): number {
  const starts = [...splits(word).map(([server]) => server), ...canonicalStarts(word)]
  return starts.filter((server) => servers.has(server)).length
}

function canonicalStarts(word: string): readonly string[] {
  if (!word.startsWith('mcp__')) return []
  const rest = word.slice('mcp__'.length)
  return [...rest.matchAll(/__/g)].map(({ index }) => rest.slice(0, index))
}

function addedBy(word: string, own: readonly string[]): readonly string[] {
  if (!hasGlob(word)) return own.flatMap((server) => toolIn(word, server) ?? [])
  if (word.includes('/')) return splitOff(word, own)
  if (word.startsWith('mcp__')) return own.flatMap((server) => toolIn(word, server) ?? [])
  return own.some(nameGlob(word)) ? [ALL] : []
}

function takenBy(word: string, own: readonly string[]): readonly string[] {
  if (own.includes(word)) return [ALL]
  const tools = own.flatMap((server) => toolIn(word, server) ?? [])
  if (!hasGlob(word)) return [...tools, word]
  const whole = own.some(nameGlob(word)) ? [ALL] : []
  return [...tools, ...splitOff(word, own), ...whole, word]
}

function splitOff(word: string, own: readonly string[]): readonly string[] {
  return splits(word).flatMap(([server, tool]) => (tool !== '' && own.some(nameGlob(server)) ? [tool] : []))
}

/** What all of them leave. Undefined where no list of patterns says that: of two globs the common part is none. */
export function intersectPatterns(all: readonly ToolPatterns[]): ToolPatterns | undefined {
  const takes = [...new Set(all.flatMap((one) => one.takes))]
  let adds: readonly string[] = [ALL]
  for (const one of all) {
    const common = adds.flatMap((a) => one.adds.map((b) => commonPart(a, b)))
    if (common.includes(undefined)) return undefined
    adds = [...new Set(common.flatMap((part) => part ?? []))]
  }
  return { adds, takes }
}

/** Undefined: it cannot be said. */
function commonPart(a: string, b: string): readonly string[] | undefined {
  if (a === b || b === ALL) return [a]
  if (a === ALL) return [b]
  if (hasGlob(a) && hasGlob(b)) return undefined
  const [name, pattern] = hasGlob(a) ? [b, a] : [a, b]
  return hasGlob(pattern) && nameGlob(pattern)(name) ? [name] : []
}
