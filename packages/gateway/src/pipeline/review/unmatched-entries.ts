import { canonicalName, didYouMean, isNameGlob, quoteText, type ToolEntry } from '@sallyport/core'
import type { Catalog, Offer } from '../../catalog/catalog.ts'
import { GOVERNED_METHODS } from '../rules/governed-offer.ts'

export interface EntrySources {
  readonly catalog: Pick<Catalog, 'servers' | 'knows' | 'snapshot'>
  readonly entries: readonly ToolEntry[]
  readonly entriesOf: (offer: Offer) => readonly ToolEntry[]
}

/** An entry that people wrote and that is about nothing on offer, and what it was probably meant for. */
export interface UnmatchedEntry {
  readonly entry: ToolEntry
  readonly problem: string
  /** A tool is there that it was probably meant for. */
  readonly isMisspelled: boolean
}

/** To compare thousands of entries with thousands of names would take minutes, in which nobody is served. */
const MAX_COMPARED = 10_000

/**
 * Rules with a slip in their name are not in force. An entry with a pin was about a tool once, which may only be gone
 * for now; and while a server is not known, nobody can tell.
 */
export function findUnmatchedEntries({ catalog, entries, entriesOf }: EntrySources): readonly UnmatchedEntry[] {
  if (!catalog.servers.every((server) => catalog.knows(server))) return []
  const { tools } = catalog.snapshot
  const busy = new Set(tools.flatMap((offer) => entriesOf(offer)))
  const idle = entries.filter((entry) => isForOneTool(entry) && entry.fields.pin === undefined && !busy.has(entry))
  if (idle.length === 0) return []
  const methods = catalog.servers.flatMap(governedMethodNames)
  const likely = idle.length * tools.length > MAX_COMPARED ? [] : tools
  const names = likely.flatMap(({ recordName, server, name, wire }) => [recordName, `${server}/${name}`, wire])
  return idle.flatMap((entry) => {
    const { key } = entry
    const guess = didYouMean(key, names)
    // One file may be shared by people who have different servers.
    const isOurs =
      guess !== '' ||
      catalog.servers.some((server) => key.startsWith(`mcp__${server}__`) || key.startsWith(`${server}/`))
    if (!isOurs || methods.includes(key)) return []
    return [{ entry, problem: `no tool is called ${quoteText(key, 60)}.${guess}`, isMisspelled: guess !== '' }]
  })
}

/** A pattern may be there for tools to come. */
const isForOneTool = ({ key }: ToolEntry): boolean => !isNameGlob(key)

const governedMethodNames = (server: string): readonly string[] =>
  GOVERNED_METHODS.flatMap((tool) => [canonicalName({ server, tool }), `${server}/${tool}`])
