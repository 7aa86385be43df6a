import { compileSelectors, type ToolRef } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { selectNativeTools } from './agent-mcp-filter.ts'
import { selectWrappedTools } from './wrapped-tools.ts'

const ID = 'behind'
const NAMES = ['docs', 'My Docs', 'my_docs', 'a', 'a/b', 'do']
const TOOLS = ['search', 'delete_all', 'b/c', 'c', 'docs', 'docs_search', 'behind_search']

const word = fc.oneof(
  fc.constantFrom(...NAMES, 'my-docs', '*', 'd*', '?', 'search', 'delete_*', 'sea*', ID, `${ID}/search`, 'docs_*'),
  fc
    .tuple(fc.constantFrom(...NAMES, 'my-docs', '*', 'd*', 'a*', '?'), fc.constantFrom(...TOOLS, '*', '*_*', 's*', ''))
    .map((parts) => parts.join('/')),
  fc
    .tuple(fc.constantFrom(...NAMES), fc.constantFrom(...TOOLS, '*', 's*'))
    .map(([server, tool]) => `mcp__${server}__${tool}`),
)
const selection = fc.option(fc.array(fc.tuple(fc.constantFrom('', '', '!'), word).map((parts) => parts.join(''))), {
  nil: undefined,
})

function offered(selectors: readonly string[] | undefined): readonly string[] {
  const refs = TOOLS.map((tool): ToolRef => ({ server: ID, tool }))
  const others = TOOLS.map((tool): ToolRef => ({ server: 'docs', tool }))
  const compiled = compileSelectors(selectors ?? [], [...refs, ...others])
  expect(others.filter((ref) => compiled.includes(ref))).toEqual([])
  return refs.filter((ref) => compiled.includes(ref)).map(({ tool }) => tool)
}

describe('what the gateway offers instead of an agent’s server', () => {
  it('is never more than each selection allows, and nothing of another server', () => {
    const tools = NAMES.flatMap((server) => TOOLS.map((tool) => ({ server, tool })))
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), fc.array(selection, { maxLength: 2 }), (name, selections) => {
        const left = offered(selectWrappedTools({ name, names: NAMES, selections, config: {} }, ID))
        for (const one of selections) {
          if (one === undefined) continue
          const kept = selectNativeTools({ selection: one, servers: NAMES, tools }).selectedTools(name)
          expect(kept).toEqual(expect.arrayContaining([...left]))
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it.each([
    [['docs/search'], undefined, ['search']],
    [['docs'], ['docs/s*', 'docs/c'], ['search', 'c']],
    [['docs', '!delete_*'], ['*'], ['search', 'b/c', 'c', 'docs', 'docs_search', 'behind_search']],
    [['do*/search'], undefined, ['search']],
    [['mcp__docs__search'], undefined, ['search']],
    [[], undefined, []],
    [['docs/search'], ['docs/c'], []],
  ])('is with %j and %j just %j', (one, other, left) => {
    expect(
      offered(selectWrappedTools({ name: 'docs', names: ['docs', 'b'], selections: [one, other], config: {} }, ID)),
    ).toEqual(left)
  })

  it('is not more than the agent’s own entry allows', () => {
    const config = { include_tools: ['search', 'c'], exclude_tools: ['c'] }
    expect(offered(selectWrappedTools({ name: 'docs', names: ['docs'], selections: [['docs']], config }, ID))).toEqual([
      'search',
    ])
    expect(
      offered(selectWrappedTools({ name: 'docs', names: ['docs'], selections: [], config: { include_tools: [] } }, ID)),
    ).toEqual([])
  })

  it('cannot be determined if two patterns overlap', () => {
    const selections = [['docs/s*'], ['docs/*h']]
    expect(selectWrappedTools({ name: 'docs', names: ['docs'], selections, config: {} }, ID)).toBeUndefined()
  })
})
