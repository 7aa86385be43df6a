import { compileSelectors, type Json, type JsonObject, slugServerId, type ToolRef } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { configWith as configOf, HOST, nativeText } from './adapter.test-kit.ts'
import type { NativeToolFilter } from './agent-adapter.ts'
import { ADAPTERS, type AgentAdapter, applyAgentMcpFilter, type NativeConfig, type NativeServer } from './agents.ts'

const NAMES = [
  'github',
  'docs',
  'My Server',
  'my-server',
  'a b',
  'x/y',
  '__proto__',
  'constructor',
  'ä',
  'mcp__docs__read',
  '1',
]
const TOOLS = ['search', 'read', 'delete_page', 'delete_all', 'x', 'docs']
/** Tools that nobody knows of when the selection is made. */
const LATER = ['delete_later', 'later', 'searched']

const WITH_MCP = ADAPTERS.filter(({ supportsMcp }) => supportsMcp)

/** Whether the agent would offer a tool of a server that has this entry. */
function offers(entry: JsonObject, { include, exclude, all }: NativeToolFilter, tool: string): boolean {
  const listed = include === undefined ? undefined : entry[include]
  const dropped = exclude === undefined ? undefined : entry[exclude]
  const isOpen =
    listed === undefined ||
    (all === 'if empty' && Array.isArray(listed) && listed.length === 0) ||
    (all === '*' && Array.isArray(listed) && listed.includes('*'))
  if (Array.isArray(dropped) && dropped.includes(tool)) return false
  return isOpen || (Array.isArray(listed) && listed.includes(tool))
}

/** What a selection means once the tools that come later are known too, by either word for a server. */
function means(selection: readonly string[], names: readonly string[], known: readonly ToolRef[]) {
  const words = (name: string): readonly string[] => {
    const id = slugServerId(name)
    const isSole = names.every((other) => other === name || (other !== id && slugServerId(other) !== id))
    return isSole && id !== '' ? [name, id] : [name]
  }
  const spelt = (name: string, tool: string): boolean =>
    words(name).some((server) =>
      selection.some((one) => [`${server}/${tool}`, `mcp__${server}__${tool}`].includes(one.replace(/^!/, ''))),
    )
  const toolsOf = (name: string): readonly string[] => [
    ...TOOLS.filter(
      (tool) => spelt(name, tool) || known.some((ref) => ref.tool === tool && words(name).includes(ref.server)),
    ),
    ...LATER,
  ]
  const views = [(name: string) => name, (name: string) => slugServerId(name) || name].map((word) => {
    const refs = names.flatMap((name) => toolsOf(name).map((tool) => ({ server: word(name), tool })))
    return { word, selected: compileSelectors(selection, refs, { servers: names.map(word) }) }
  })
  return {
    toolsOf,
    selected: (name: string, tool: string): boolean =>
      views.some(
        ({ word, selected }) => words(name).includes(word(name)) && selected.includes({ server: word(name), tool }),
      ),
  }
}

const lists = fc.oneof(
  { weight: 4, arbitrary: fc.subarray([...TOOLS, '*']) },
  { weight: 1, arbitrary: fc.constantFrom<Json>('text', 7, ['a', 1], {}) },
)
const entryFor = ({ toolFilter }: AgentAdapter): fc.Arbitrary<JsonObject> => {
  const keys = [toolFilter?.include, toolFilter?.exclude].filter((key) => key !== undefined)
  return fc
    .tuple(fc.constantFrom('npx', '$A'), ...keys.map(() => fc.option(lists, { nil: undefined })))
    .map(([command, ...values]) => {
      const filters = keys.flatMap((key, at) => (values[at] === undefined ? [] : [[key, values[at]]]))
      return { command, unknown: { deep: [true] }, ...Object.fromEntries(filters), last: 'x' }
    })
}
const word = fc.oneof(
  fc.constantFrom(...NAMES, ...NAMES.map(slugServerId).filter(Boolean), '*', 'd*', 'nothing', 'search', 'delete_*'),
  fc
    .tuple(fc.constantFrom(...NAMES, 'my-server', 'a-b', '*'), fc.constantFrom(...TOOLS, '*', '?*', 'delete_*', 'lat*'))
    .map(([server, tool]) => `${server}/${tool}`),
  fc
    .tuple(fc.constantFrom('github', 'docs', 'my-server'), fc.constantFrom(...TOOLS))
    .map(([server, tool]) => `mcp__${server}__${tool}`),
)
const selector = fc.tuple(fc.constantFrom('', '', '', '!'), word).map(([sign, text]) => `${sign}${text}`)

const caseFor = (adapter: AgentAdapter) =>
  fc.record({
    entries: fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), entryFor(adapter)), {
      maxLength: 5,
      selector: ([name]) => name,
    }),
    selection: fc.array(selector, { maxLength: 4 }),
    known: fc.array(fc.record({ server: fc.constantFrom(...NAMES), tool: fc.constantFrom(...TOOLS) }), {
      maxLength: 8,
    }),
  })

const byName = (servers: readonly NativeServer[]): ReadonlyMap<string, NativeServer> =>
  new Map(servers.map((server) => [server.name, server]))

describe.each(WITH_MCP.map((adapter) => [adapter.id, adapter] as const))(
  `the filter over %s (${promise('AG-9')})`,
  (_, adapter) => {
    const filter = adapter.toolFilter ?? {}

    it('changes nothing without a selection, and leaves no server with an empty one', () => {
      fc.assert(
        fc.property(caseFor(adapter), ({ entries, known }) => {
          const config = configOf(adapter, entries)
          expect(adapter.filterAvailableMcpTools(config, undefined, known).config).toBe(config)
          const none = adapter.filterAvailableMcpTools(config, [], known)
          expect(none.config.servers).toEqual([])
          expect(none.wrap).toEqual([])
        }),
        { numRuns: 20 },
      )
    })

    it(`only removes, and passes on the rest unchanged (${promise('AG-4')})`, () => {
      fc.assert(
        fc.property(caseFor(adapter), ({ entries, selection, known }) => {
          const config = configOf(adapter, entries)
          const { config: left, wrap } = adapter.filterAvailableMcpTools(config, selection, known)
          const before = byName(config.servers)
          for (const { name, entry } of left.servers) {
            const original = before.get(name)?.entry ?? {}
            const others = Object.keys(original).filter((key) => key !== filter.include && key !== filter.exclude)
            for (const key of others) expect(entry[key]).toBe(original[key])
            const added = Object.keys(entry).filter((key) => !Object.hasOwn(original, key))
            expect([filter.include, filter.exclude]).toEqual(expect.arrayContaining(added))
            for (const tool of [...TOOLS, ...LATER])
              if (offers(entry, filter, tool)) expect(offers(original, filter, tool)).toBe(true)
          }
          expect(left.servers.filter(({ name }) => wrap.some((one) => one.name === name))).toEqual([])
          const [file] = adapter.nativeFiles(HOST)
          const again = file && adapter.getMcpConfig(nativeText(left.document, file.path), file)
          expect(again?.servers).toEqual(left.servers)
          expect(Object.keys(left.document)).toEqual(Object.keys(config.document))
        }),
        { numRuns: 150 },
      )
    })

    it('offers nothing that is not selected, including tools that are added later', () => {
      fc.assert(
        fc.property(caseFor(adapter), ({ entries, selection, known }) => {
          const config = configOf(adapter, entries)
          const { config: left } = adapter.filterAvailableMcpTools(config, selection, known)
          const names = config.servers.map(({ name }) => name)
          const { toolsOf, selected } = means(selection, names, known)
          for (const { name, entry } of left.servers)
            for (const tool of toolsOf(name))
              if (offers(entry, filter, tool))
                expect({ name, tool, is: selected(name, tool) }).toEqual({ name, tool, is: true })
        }),
        { numRuns: 150 },
      )
    })

    it('never leaves more if another exclusion is added', () => {
      fc.assert(
        fc.property(caseFor(adapter), word, ({ entries, selection, known }, taken) => {
          const config = configOf(adapter, entries)
          const some = byName(adapter.filterAvailableMcpTools(config, selection, known).config.servers)
          const fewer = adapter.filterAvailableMcpTools(config, [...selection, `!${taken}`], known).config.servers
          for (const { name, entry } of fewer) {
            const wider = some.get(name)
            for (const tool of TOOLS)
              if (offers(entry, filter, tool) && wider !== undefined)
                expect(offers(wider.entry, filter, tool)).toBe(true)
          }
        }),
        { numRuns: 60 },
      )
    })
  },
)

describe('the filter', () => {
  const server = (name: string, entry: JsonObject = { command: 'x' }): NativeServer => ({ name, entry })
  const configWith = (...servers: readonly NativeServer[]): NativeConfig => ({
    servers,
    document: { s: Object.fromEntries(servers.map(({ name, entry }) => [name, entry])) },
    serversPath: ['s'],
    builtInNames: [],
    problems: [],
  })
  const DOCS: readonly ToolRef[] = ['search', 'delete_a'].map((tool) => ({ server: 'docs', tool }))
  const both = { include: 'only', exclude: 'not' }

  it('reports selectors that match nothing', () => {
    const { unmatched, config } = applyAgentMcpFilter(configWith(server('docs')), ['dosc', '!x/y', 'docs'], {
      tools: [],
      toolFilter: both,
    })
    expect(unmatched).toEqual(['dosc', '!x/y'])
    expect(config.servers).toEqual([server('docs')])
  })

  it('accepts an agent’s name or our id, and selects neither of two that share an id', () => {
    const config = configWith(server('My Server'), server('my_server'), server('Other One'))
    const names = (...selection: string[]) =>
      applyAgentMcpFilter(config, selection, { tools: [], toolFilter: both }).config.servers.map(({ name }) => name)
    expect(names('other-one')).toEqual(['Other One'])
    expect(names('Other One')).toEqual(['Other One'])
    expect(names('my-server')).toEqual([])
    const taken = applyAgentMcpFilter(config, ['My Server', 'my_server', 'Other One', '!my-server', '!other-one'], {
      tools: [],
      toolFilter: both,
    })
    expect(taken).toMatchObject({ config: { servers: [] }, wrap: [] })
  })

  it('lists the remaining tools if a pattern excludes, since it may match later tools', () => {
    const filtering = applyAgentMcpFilter(configWith(server('docs')), ['docs', '!docs/delete_*'], {
      tools: DOCS,
      toolFilter: both,
    })
    expect(filtering.config.servers).toEqual([server('docs', { command: 'x', only: ['search'] })])
  })

  it.each([
    [{ exclude: 'not' }, DOCS, 'The agent has no filter of its own for single tools.'],
    [undefined, DOCS, 'The agent has no filter of its own for single tools.'],
    [both, [], 'Its tools are not known, so the selected ones cannot be listed.'],
  ])('leaves a server to the gateway if %j cannot express the selection', (toolFilter, tools, why) => {
    const filtering = applyAgentMcpFilter(configWith(server('docs')), ['docs', '!docs/delete_*'], { tools, toolFilter })
    expect(filtering).toMatchObject({ config: { servers: [] }, wrap: [{ name: 'docs', why }] })
  })

  it('writes no empty list, which an agent could treat as no list', () => {
    const config = configWith(server('docs', { command: 'x', only: ['read'] }))
    const filtering = applyAgentMcpFilter(config, ['docs/search'], { tools: DOCS, toolFilter: both })
    expect(filtering).toMatchObject({ config: { servers: [], document: { s: {} } }, wrap: [] })
  })

  it('does not change built-in parts of the agent', () => {
    const goose = ADAPTERS.find(({ id }) => id === 'goose') as AgentAdapter
    const text = 'extensions:\n  developer: {type: builtin, enabled: true}\n  docs: {type: stdio, cmd: x}\n'
    const config = goose.getMcpConfig(text, { path: '/c.yaml', scope: 'user' })
    expect(config.servers.map(({ name }) => name)).toEqual(['docs'])
    expect(goose.filterAvailableMcpTools(config, [], []).config.document).toEqual({
      extensions: { developer: { type: 'builtin', enabled: true } },
    })
  })

  it('handles five thousand servers', () => {
    const config = configWith(...Array.from({ length: 5_000 }, (_, n) => server(`Server ${n}`)))
    const { config: left } = applyAgentMcpFilter(config, ['server-7', 'server-9/x', '!server-7/y'], {
      tools: [],
      toolFilter: both,
    })
    expect(left.servers).toEqual([
      server('Server 7', { command: 'x', not: ['y'] }),
      server('Server 9', { command: 'x', only: ['x'] }),
    ])
  })
})
