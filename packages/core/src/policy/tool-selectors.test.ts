import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { plainName } from '../names.ts'
import { canonicalName, type ToolRef } from '../tool.ts'
import { compileSelectors } from './tool-selectors.ts'

const refs = (...names: readonly string[]): readonly ToolRef[] =>
  names.map((name) => ({ server: name.slice(0, name.indexOf('/')), tool: name.slice(name.indexOf('/') + 1) }))
const TOOLS = refs('github/search', 'github/delete_repo', 'docs/search', 'docs/delete_page', 'docs/find', 'web/fetch')
const written = ({ server, tool }: ToolRef) => `${server}/${tool}`
const selected = (selectors: readonly string[] | undefined, tools = TOOLS) =>
  tools.filter(compileSelectors(selectors, tools, { wireName: plainName }).includes).map(written)
const unmatched = (selectors: readonly string[]) => compileSelectors(selectors, TOOLS).unmatched

describe('selectors', () => {
  it(`select all tools if there are none, and no tool if the list is empty (${promise('AG-8')})`, () => {
    expect(selected(undefined)).toEqual(TOOLS.map(written))
    expect(selected([])).toEqual([])
  })

  it('that match nothing select nothing, and are reported', () => {
    expect(selected(['githob', 'docs/*x', 'nope/search', '', '!'])).toEqual([])
    expect(unmatched(['githob', 'docs', '!docs/serch', '!web', ''])).toEqual(['githob', '!docs/serch', ''])
  })

  it('that match nothing are reported, of every kind', () => {
    const all = [
      'zz*',
      'docs/zz*',
      'zz/*',
      'mcp__zz__*',
      'nope/search',
      'mcp__nope__x',
      '!zz*',
      '!docs/zz*',
      '!mcp__zz__*',
    ]
    expect(unmatched(all)).toEqual(all)
    expect(unmatched(['d*', 'docs/f*', 'w*/*', 'mcp__web__*', '!d*', '!docs/f*', '!mcp__web__*', '!search'])).toEqual(
      [],
    )
    expect(unmatched(['S*', '!S*'])).toEqual(['S*', '!S*'])
  })

  it('select every server if they are undefined, also an unknown one', () => {
    const { includesServer, unmatched: none } = compileSelectors(undefined, TOOLS)
    expect(['docs', 'nobody'].map(includesServer)).toEqual([true, true])
    expect(none).toEqual([])
    expect(compileSelectors(['*'], TOOLS).includesServer('nobody')).toBe(false)
  })

  it('match nothing with an empty word, even if a tool has an empty name', () => {
    const tools = refs('docs/find')
    const nameless = compileSelectors(['', 'S*'], tools, { wireName: () => undefined })
    expect(tools.filter(nameless.includes)).toEqual([])
    expect(nameless.unmatched).toEqual(['', 'S*'])
  })

  it('that only exclude select nothing', () => {
    expect(selected(['!docs'])).toEqual([])
    expect(selected(['*', '!docs'])).toEqual(['github/search', 'github/delete_repo', 'web/fetch'])
  })

  it.each([
    [['github'], ['github/search', 'github/delete_repo']],
    [['github/*'], ['github/search', 'github/delete_repo']],
    [['github/search'], ['github/search']],
    [['mcp__github__search'], ['github/search']],
    [['mcp__docs__*'], ['docs/search', 'docs/delete_page', 'docs/find']],
    [['docs_find'], ['docs/find']],
    [['docs_*'], ['docs/search', 'docs/delete_page', 'docs/find']],
    [['find'], ['docs/find']],
    [['search'], []],
    [['*/search'], ['github/search', 'docs/search']],
    [['delete_*'], ['github/delete_repo', 'docs/delete_page']],
    [
      ['d*', '!docs/delete_*'],
      ['docs/search', 'docs/find'],
    ],
    [
      ['docs', '!search'],
      ['docs/delete_page', 'docs/find'],
    ],
    [['docs', '!docs'], []],
    [
      ['github/search', 'docs', '!docs/delete_*'],
      ['github/search', 'docs/search', 'docs/find'],
    ],
  ])(`name servers, tools and globs over both: %j (${promise('AG-7')})`, (selectors, expected) => {
    expect(selected(selectors)).toEqual(expected)
  })

  it('prefer the server to the tool for a bare word', () => {
    const tools = refs('fetch/get', 'web/fetch')
    expect(selected(['fetch'], tools)).toEqual(['fetch/get'])
    const away = compileSelectors(['fetch'], refs('web/fetch'), { servers: ['fetch'] })
    expect(away.includes({ server: 'web', tool: 'fetch' })).toBe(false)
  })

  it('never confuse a tool with one of another server, whatever its name is', () => {
    const evil = refs('evil/github/search', 'evil/mcp__github__search', 'evil/github_search', 'evil/a__search')
    const words = ['github/search', 'mcp__github__search', 'github_search', 'github_*', 'github/*', 'mcp__github__*']
    const { includes } = compileSelectors(words, evil, { servers: ['github'], wireName: plainName })
    expect(evil.filter(includes)).toEqual([])
    const borrowed = refs('evil/mcp_github_search')
    const typed = ['mcp_github_search', 'mcp_github_*']
    expect(borrowed.filter(compileSelectors(typed, borrowed, { servers: ['github'] }).includes)).toEqual([])
  })

  it('match a bare word only with a tool whose name does not look like another server’s', () => {
    const tools = refs('docs/githubber', 'github/github_find', 'docs/my_mcp__tool', '日本/list')
    expect(selected(['githubber'], tools)).toEqual(['docs/githubber'])
    expect(selected(['github_find'], tools)).toEqual(['github/github_find'])
    expect(selected(['my_mcp__tool'], tools)).toEqual(['docs/my_mcp__tool'])
    expect(selected(['my_mcp__*'], tools)).toEqual(['docs/my_mcp__tool'])
    expect(selected(['list'], tools)).toEqual(['日本/list'])
  })

  it('exclude every tool that an ambiguous word may mean', () => {
    expect(selected(['*', '!search'])).not.toContain('docs/search')
    expect(selected(['*', '!search'])).not.toContain('github/search')
  })

  it('treat names of inherited object properties as ordinary names', () => {
    const tools = refs('__proto__/constructor', 'toString/__proto__')
    expect(selected(['__proto__'], tools)).toEqual(['__proto__/constructor'])
    expect(selected(['constructor'], tools)).toEqual(['__proto__/constructor'])
    expect(selected(['hasOwnProperty', 'valueOf'], tools)).toEqual([])
  })

  it('find servers whose native names have a slash, a dot or no letter', () => {
    const tools = [
      { server: '@scope/pkg', tool: 'run' },
      { server: '日本', tool: 'find' },
      { server: 'a.b', tool: 'c' },
    ]
    expect(selected(['@scope/pkg/*'], tools)).toEqual(['@scope/pkg/run'])
    expect(selected(['find', 'a.b/c'], tools)).toEqual(['日本/find', 'a.b/c'])
  })

  it('select a server without tools only as a whole', () => {
    const { includesServer, unmatched: none } = compileSelectors(['notes', 'docs/find', 'web', '!web'], TOOLS, {
      servers: ['notes', 'files'],
    })
    expect(['notes', 'files', 'docs', 'github', 'web'].filter(includesServer)).toEqual(['notes', 'docs'])
    expect(none).toEqual([])
    const whole = compileSelectors(['notes/*', 'fil*/*', 'docs/x*'], TOOLS, { servers: ['notes', 'files'] })
    expect(['notes', 'files', 'docs'].filter(whole.includesServer)).toEqual(['notes', 'files'])
  })

  it('stay fast with ten thousand selectors over five thousand tools', () => {
    const tools = Array.from({ length: 5_000 }, (_, at) => ({ server: `s${at % 50}`, tool: `tool_${at}` }))
    const names = Array.from({ length: 10_000 }, (_, at) => (at % 2 ? `s${at % 50}/tool_${at}` : `*l_${at}*`))
    expect(tools.filter(compileSelectors(names, tools).includes)).toHaveLength(5_000)
  })
})

const piece = fc.string({ unit: fc.constantFrom('a', 'b', '_', '/', '*', '!', '-'), maxLength: 4 })
const tool = fc.record({ server: piece, tool: piece })
const world = fc.uniqueArray(tool, { maxLength: 8, selector: canonicalName })
const selector = fc.oneof(
  piece,
  tool.map(written),
  tool.map(canonicalName),
  tool.map((ref) => `!${written(ref)}`),
)

describe('any selectors', () => {
  it('select the same in any order, also if repeated', () => {
    fc.assert(
      fc.property(fc.array(selector), world, fc.infiniteStream(fc.nat()), (words, tools, random) => {
        const shuffled = words
          .map((word) => ({ word, at: random.next().value ?? 0 }))
          .sort((a, b) => a.at - b.at)
          .map(({ word }) => word)
        expect(selected([...shuffled, ...words], tools)).toEqual(selected(words, tools))
      }),
    )
  })

  it('select no more with another exclusion, and exclude what it names', () => {
    fc.assert(
      fc.property(fc.array(selector), world, piece, (words, tools, taken) => {
        const before = selected(words, tools)
        const after = selected([...words, `!${taken}`], tools)
        expect(before).toEqual(expect.arrayContaining(after))
        const named = selected([taken], tools)
        expect(after.filter((name) => named.includes(name))).toEqual([])
      }),
    )
  })

  it('select only known tools, and nothing if all of them match nothing', () => {
    fc.assert(
      fc.property(fc.array(selector), world, tool, (words, tools, stranger) => {
        const { includes, unmatched: none } = compileSelectors(words, tools)
        const isKnown = tools.some(
          (ref) => canonicalName(ref) === canonicalName(stranger) && ref.tool === stranger.tool,
        )
        if (!isKnown) expect(includes(stranger)).toBe(false)
        if (none.length === new Set(words).size) expect(tools.filter(includes)).toEqual([])
      }),
    )
  })

  it('match one tool by a full name, or none if the name is ambiguous', () => {
    fc.assert(
      fc.property(world, ([first, ...others]) => {
        fc.pre(first !== undefined && !/[*!]|^$/.test(canonicalName(first)))
        const tools = first ? [first, ...others] : others
        const twins = tools.filter((ref) => first && canonicalName(ref) === canonicalName(first))
        expect(selected([canonicalName(tools[0] as ToolRef)], tools)).toHaveLength(twins.length === 1 ? 1 : 0)
      }),
    )
  })
})
