import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  extentOf,
  isSameSelection,
  isUnset,
  type OfferedServer,
  readSelection,
  removeStale,
  setNone,
  sumGiven,
  sumSelected,
  toggleServer,
  toggleTool,
  toSelectors,
} from './tool-selection.ts'

const server = (id: string, ...tools: readonly string[]): OfferedServer => ({
  id,
  tools: tools.map((tool) => ({ tool: tool.replace('+', ''), selected: tool.endsWith('+'), tokens: 10 })),
})

const DOCS = server('docs', 'search', 'read', 'delete')
const GIT = server('git', 'log')
const OFFERED = [DOCS, GIT]
const UNSET = readSelection({ stale: [], servers: OFFERED })

describe('the selection of a profile', () => {
  it('means all tools if nothing is chosen, and no tool only if that is said', () => {
    expect(toSelectors(UNSET, OFFERED)).toBeUndefined()
    expect(isUnset(UNSET)).toBe(true)
    expect(sumSelected(UNSET, OFFERED).tools).toBe(0)
    expect(sumGiven(UNSET, OFFERED)).toEqual({ tools: 4, tokens: 40 })
    expect(toSelectors(setNone(true), OFFERED)).toEqual([])
    expect(sumGiven(setNone(true), OFFERED).tools).toBe(0)
  })

  it('writes a server as its name, and single tools with their server', () => {
    const whole = toggleServer(UNSET, DOCS, DOCS.tools)
    expect(toSelectors(whole, OFFERED)).toEqual(['docs'])
    expect(toSelectors(toggleTool(whole, DOCS, 'delete'), OFFERED)).toEqual(['docs/search', 'docs/read'])
    expect(toSelectors(toggleServer(whole, DOCS, DOCS.tools), OFFERED)).toBeUndefined()
  })

  it('makes a mixed server whole, and changes of a search only what is shown', () => {
    const mixed = toggleTool(UNSET, DOCS, 'read')
    expect(extentOf(mixed, 'docs', DOCS.tools)).toBe('some')
    expect(toSelectors(toggleServer(mixed, DOCS, DOCS.tools), OFFERED)).toEqual(['docs'])
    const shown = [{ tool: 'search' }]
    const added = toggleServer(mixed, DOCS, shown)
    expect(toSelectors(added, OFFERED)).toEqual(['docs/search', 'docs/read'])
    expect(toSelectors(toggleServer(added, DOCS, shown), OFFERED)).toEqual(['docs/read'])
  })

  it('keeps what matches nothing until it is removed, and then selects no more than before', () => {
    const written = { selectors: ['gone/tool'], stale: ['gone/tool'], servers: OFFERED }
    const read = readSelection(written)
    expect(toSelectors(read, OFFERED)).toEqual(['gone/tool'])
    expect(isUnset(read)).toBe(false)
    expect(sumGiven(read, OFFERED).tools).toBe(0)
    expect(toSelectors(removeStale(toggleTool(read, GIT, 'log'), 'gone/tool'), OFFERED)).toEqual(['git/log'])
  })

  it('reads patterns as the tools that they match, without adding any', () => {
    const servers = [server('docs', 'search+', 'read+', 'delete'), GIT]
    const read = readSelection({ selectors: ['docs', '!docs/delete'], stale: [], servers })
    expect(toSelectors(read, servers)).toEqual(['docs/search', 'docs/read'])
    const all = [server('docs', 'search+', 'read+'), GIT]
    expect(toSelectors(readSelection({ selectors: ['docs/*'], stale: [], servers: all }), all)).toEqual(['docs'])
    expect(toSelectors(readSelection({ selectors: ['docs/s*', 'docs/r*'], stale: [], servers: all }), all)).toEqual([
      'docs/search',
      'docs/read',
    ])
  })

  it('is the same after every tool was changed twice', () => {
    const tool = fc.constantFrom(...OFFERED.flatMap((one) => one.tools.map((offer) => [one, offer.tool] as const)))
    fc.assert(
      fc.property(fc.array(tool), fc.array(tool), (before, changes) => {
        const start = before.reduce((selection, [one, name]) => toggleTool(selection, one, name), UNSET)
        const twice = [...changes, ...changes].reduce(
          (selection, [one, name]) => toggleTool(selection, one, name),
          start,
        )
        expect(isSameSelection(start, twice, OFFERED)).toBe(true)
      }),
    )
  })
})
