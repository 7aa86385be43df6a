import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../tests/promises.ts'
import { AGENT_NAMES, listShownTools } from './agent-names.test-kit.ts'
import { foldName, NameTable } from './names.ts'
import { canonicalName, type ToolRef } from './tool.ts'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

const wiresOf = (refs: readonly ToolRef[]): readonly string[] => {
  const table = new NameTable(refs, { naming: 'prefixed', digest })
  return refs.map((ref) => table.wireName(ref) ?? '')
}

const builtIns = ['read_file', 'list_directory'].map((tool) => ({ server: 'sallyport', tool }))
const serverId = fc.constantFrom('a', 'a-b', 'gw', 'mcp-gw', 'git', 'git-hub', '1', 'sallyport-read', 'x'.repeat(40))

/** Names that agents change, cut, drop or confuse, and names that imitate those of other tools. */
const hostileTool = fc.oneof(
  fc.constantFrom('b_c', 'b-c', 'b.c', 'b:c', 'b c', 'B_C', 'b__c', 'b___c', '_b_c_', 'b/c', 'ｂ_c', 'bü', 'b\u0000c'),
  fc.constantFrom('mcp__gw__a_b_c', 'gw_a_b', 'file', 'read_file', 'hub_search', '__proto__', '日本語', ' ', '*', '.'),
  fc.tuple(fc.constantFrom('x', 'x_', 'x-', 'é'), fc.integer({ min: 20, max: 130 })).map(([part, n]) => part.repeat(n)),
  // The same beginning and end with another middle: agents that cut without a hash confuse these.
  fc.integer({ min: 0, max: 99 }).map((n) => `${'begin_'.repeat(9)}${n}${'_end'.repeat(9)}`),
  fc.constantFrom('a/b_c', 'a-b/c', 'git/hub_search').map((path) => {
    const [server = '', tool = ''] = path.split('/')
    return `${tool}_${digest(`${server}\n${tool}`).slice(0, 8)}`
  }),
  fc.string({ unit: 'binary', maxLength: 90 }),
)

const hostileRefs = fc
  .uniqueArray(fc.record({ server: serverId, tool: hostileTool }), { selector: canonicalName, maxLength: 40 })
  .map((refs): readonly ToolRef[] => [...builtIns, ...refs])

describe(`our names in agents (${promise('AG-20')})`, () => {
  it.each(Object.entries(AGENT_NAMES))('%s shows every tool under its own name, unchanged', (_agent, rules) => {
    fc.assert(
      fc.property(hostileRefs, (refs) => {
        const wires = wiresOf(refs)
        const shown = listShownTools(rules, wires)
        expect(shown).toEqual(wires.map((wire) => ({ shown: `${rules.prefix}${wire}`, tool: wire })))
        // Also if a model, or a person who writes a rule, confuses capitals and symbols.
        expect(new Set(shown.map((one) => foldName(one.shown))).size).toBe(refs.length)
      }),
    )
  })

  it('are needed: every agent that changes names would lose or change some names of servers', () => {
    const tools = [
      'b.c',
      'b:c',
      'b c',
      `${'begin_'.repeat(9)}1${'_end'.repeat(20)}`,
      `${'begin_'.repeat(9)}2${'_end'.repeat(20)}`,
    ]
    const harmed = Object.entries(AGENT_NAMES).filter(([, rules]) => {
      const shown = listShownTools(rules, tools)
      return shown.length < tools.length || shown.some((one) => one.shown !== `${rules.prefix}${one.tool}`)
    })
    const asTheyAre = ['goose', 'cn', 'crush']
    expect(harmed.map(([agent]) => agent).toSorted()).toEqual(
      Object.keys(AGENT_NAMES)
        .filter((agent) => !asTheyAre.includes(agent))
        .toSorted(),
    )
  })

  it('fit into the shortest limit with the longest prefix', () => {
    const longest = wiresOf([{ server: 'x'.repeat(30), tool: 'y'.repeat(200) }])[0] ?? ''
    for (const { prefix, limit = Number.POSITIVE_INFINITY } of Object.values(AGENT_NAMES))
      expect(prefix.length + longest.length).toBeLessThanOrEqual(limit)
    expect(longest).toHaveLength(50)
  })

  it('are compatible with the strict server names of codex and gemini', () => {
    for (const { prefix } of Object.values(AGENT_NAMES)) {
      const server = prefix.replace(/^mcp_+/, '').replace(/[_-]+$/, '')
      expect(['', 'gw']).toContain(server)
    }
    expect('gw').toMatch(/^[a-z0-9]{1,8}$/)
  })
})
