import { compileNameGlob, isServerId, slugServerId } from '@sallyport/core'

/** The words that identify exactly one server: its own name, and the id that the gateway would give it. */
export type ServerAliases = ReadonlyMap<string, readonly string[]>

const GLOB = /[*?]/

export const hasGlob = (word: string): boolean => GLOB.test(word)

export const toServerId = (name: string): string => (isServerId(name) ? name : slugServerId(name) || name)

export function findServerAliases(names: readonly string[]): ServerAliases {
  const claims = new Map<string, Set<string>>()
  for (const name of names)
    for (const word of [name, toServerId(name)]) claims.set(word, (claims.get(word) ?? new Set()).add(name))
  return new Map(
    names.map((name) => {
      const id = toServerId(name)
      return [name, id !== name && claims.get(id)?.size === 1 ? [name, id] : [name]]
    }),
  )
}

export const isExactToolName = (word: string): boolean =>
  !hasGlob(word) && (word.includes('/') || word.startsWith('mcp__'))

/** The tool part of `server/tool`: a name, or a glob. */
export function parseToolPart(word: string, server: string): string | undefined {
  const prefix = [`${server}/`, `mcp__${server}__`].find((start) => word.startsWith(start))
  const tool = prefix === undefined ? '' : word.slice(prefix.length)
  return tool === '' ? undefined : tool
}

/** Returns true in doubt: a server that an exclusion may match is not passed on unfiltered. */
export function mayMatchServer(word: string, server: string, aliases: ServerAliases): boolean {
  const own = aliases.get(server) ?? [server]
  if (own.includes(word)) return true
  if (aliases.has(word)) return false
  if (isExactToolName(word)) return own.some((name) => parseToolPart(word, name) !== undefined)
  if (!word.includes('/')) return true
  return own.some((name) => splitCandidates(word).some(([part]) => compileNameGlob(part)(name)))
}

/** All ways to split a word into server and tool: names of servers can contain a slash. */
export function splitCandidates(word: string): readonly (readonly [server: string, tool: string])[] {
  return [...word.matchAll(/\//g)].map(({ index }) => [word.slice(0, index), word.slice(index + 1)])
}
