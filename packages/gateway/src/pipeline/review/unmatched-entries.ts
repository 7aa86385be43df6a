import { canonicalName, didYouMean, isNameGlob, quoteText, type ToolEntry } from '@sallyport/core'
import type { Catalog, Offer } from '../../catalog/catalog.ts'
import { GOVERNED_METHODS } from '../rules/governed-offer.ts'

export interface EntrySources {
  readonly catalog: Pick<Catalog, 'servers' | 'knows' | 'snapshot'>
  readonly entries: readonly ToolEntry[]
  readonly entriesOf: (offer: Offer) => readonly ToolEntry[]
}

/** An entry that matches no offer, with a guess at the intended tool. */
export interface UnmatchedEntry {
  readonly entry: ToolEntry
  readonly problem: string
  /** There is a tool with a similar name. */
  readonly isMisspelled: boolean
}

/** Comparing thousands of entries with thousands of names would block the gateway for minutes. */
const MAX_COMPARED = 10_000

/**
 * Rules with a misspelt name are not in force. An entry with a pin once matched a tool, which may be missing only
 * temporarily. While the catalog of a server is unknown, nothing is reported.
 */
export function findUnmatchedEntries({ catalog, entries, entriesOf }: EntrySources): readonly UnmatchedEntry[] {
  if (!catalog.servers.every((server) => catalog.knows(server))) return []
  const { allTools: tools } = catalog.snapshot
  const matched = new Set(tools.flatMap((offer) => entriesOf(offer)))
  const unmatched = entries.filter(
    (entry) => isForOneTool(entry) && entry.fields.pin === undefined && !matched.has(entry),
  )
  if (unmatched.length === 0) return []
  const methods = catalog.servers.flatMap(governedMethodNames)
  const likely = unmatched.length * tools.length > MAX_COMPARED ? [] : tools
  const names = likely.flatMap(({ recordName, server, name, wire }) => [recordName, `${server}/${name}`, wire])
  return unmatched.flatMap((entry) => {
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

/** Not a pattern: a pattern may be meant for future tools. */
const isForOneTool = ({ key }: ToolEntry): boolean => !isNameGlob(key)

const governedMethodNames = (server: string): readonly string[] =>
  GOVERNED_METHODS.flatMap((tool) => [canonicalName({ server, tool }), `${server}/${tool}`])
