import { describe, expect, it } from 'vitest'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { Catalog } from '../../catalog/catalog.ts'
import { EntryIndex } from '../rules/entry-index.ts'
import { findUnmatchedEntries } from './unmatched-entries.ts'

function problemsOf(
  keys: readonly string[],
  { known = ['files', 'wiki'], pin }: { known?: string[]; pin?: string } = {},
) {
  const catalog = new Catalog(['files', 'wiki'], 'prefixed')
  for (const server of known) catalog.put(server, createCatalog(['read_page', 'drop_page']))
  const entries = keys.map((key, at) => ({ key, line: at + 1, fields: pin === undefined ? {} : { pin }, lines: {} }))
  const index = new EntryIndex(entries, catalog.snapshot)
  const entriesOf = (offer: Parameters<EntryIndex['namesOf']>[0]) =>
    index.find([...index.namesOf(offer), ...index.sharedNamesOf(offer)])
  return findUnmatchedEntries({ catalog, entries, entriesOf }).map(({ problem }) => problem)
}

describe('an entry', () => {
  it.each([
    'wiki/drop_page',
    'mcp__wiki__drop_page',
    'wiki_drop_page',
    'drop_page',
    'mcp_drop_page',
    '*',
    'mcp__*__drop_*',
    'mcp__wiki__resources/read',
    'wiki/resources/subscribe',
    'mcp__wiki__sampling/createMessage',
  ])('that matches something is not reported: %s', (key) => {
    expect(problemsOf([key])).toEqual([])
  })

  it('with a misspelt name is reported, with the name that was probably meant', () => {
    expect(problemsOf(['mcp__wiki__drop_pgae', 'WIKI/drop_page', 'wiki/upload'])).toEqual([
      'no tool is called "mcp__wiki__drop_pgae". Did you mean "mcp__wiki__drop_page"?',
      'no tool is called "WIKI/drop_page". Did you mean "wiki/drop_page"?',
      'no tool is called "wiki/upload".',
    ])
  })

  it('for a server that is not configured here is not reported', () => {
    expect(problemsOf(['database/query', 'mcp__database__query'])).toEqual([])
  })

  it('with a pattern is not reported: it may be meant for future tools', () => {
    expect(problemsOf(['mcp__*__delete_*', 'wiki/?'])).toEqual([])
  })

  it('for a tool that existed once is not reported: it may come back', () => {
    expect(problemsOf(['mcp__wiki__gone'], { pin: 'sha256-1' })).toEqual([])
  })

  it('is not reported while the catalog of a server is unknown', () => {
    expect(problemsOf(['mcp__wiki__drop_pgae'], { known: ['files'] })).toEqual([])
  })
})
