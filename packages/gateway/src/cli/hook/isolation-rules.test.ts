import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { HOOK_AGENTS, type HookCall } from './hook-agent.ts'
import { findCalledTool, isIsolated, parseServerRule, type ServerRule } from './isolation-rules.ts'

const { claude, gemini } = HOOK_AGENTS
const named = (name: string): HookCall => ({
  ...{ name, server: undefined, tool: undefined, input: {}, cwd: undefined, isFromExecutor: false },
})
const rulesOf = (...servers: readonly ServerRule[]) => ({ servers, tools: [] })

describe('the tool of a call', () => {
  it('is the one that the agent names', () => {
    const call = { ...named('mcp_x'), server: 'my__db', tool: 'run__all' }
    expect(findCalledTool(call, { agent: gemini, servers: [] })).toEqual({ server: 'my__db', tool: 'run__all' })
  })

  it(`is found by composing names, never by splitting one (${promise('ISO-18')})`, () => {
    const servers = ['my', 'my__db', 'mine']
    const found = findCalledTool(named('mcp__my__db__run__all'), { agent: claude, servers })
    expect(found).toEqual({ server: 'my__db', tool: 'run__all' })
    expect(findCalledTool(named('mcp__my__db__run__all'), { agent: claude, servers: ['my'] })).toMatchObject({
      server: 'my',
    })
    expect(findCalledTool(named('mcp__other__run'), { agent: claude, servers })).toBeUndefined()
  })

  it('belongs to the server that Claude Code names, even if others would match', () => {
    const call = { ...named('mcp__my__db__run'), server: 'my' }
    expect(findCalledTool(call, { agent: claude, servers: ['my', 'my__db'] })).toEqual({
      server: 'my',
      tool: 'db__run',
    })
  })
})

describe('whether a tool is isolated', () => {
  const query = { server: 'database', tool: 'query' }

  it('follows the server, then its list', () => {
    expect(isIsolated(query, rulesOf({ name: 'database', isolated: true }), claude)).toBe(true)
    expect(isIsolated(query, rulesOf({ name: 'database', isolatedTools: ['query'] }), claude)).toBe(true)
    expect(isIsolated(query, rulesOf({ name: 'database', isolatedTools: ['other'] }), claude)).toBe(false)
    expect(isIsolated(query, rulesOf({ name: 'other', isolated: true }), claude)).toBe(false)
  })

  it('finds a server by the id that an import gave it, and a tool by the name that an agent shows', () => {
    expect(
      isIsolated({ ...query, server: 'My Database' }, rulesOf({ name: 'my-database', isolated: true }), claude),
    ).toBe(true)
    const dotted = rulesOf({ name: 'database', isolatedTools: ['run.all/now'] })
    expect(isIsolated({ ...query, tool: 'run_all_now' }, dotted, claude)).toBe(true)
  })

  it.each(['mcp__database__query', 'database/query', 'database_query', 'query', 'mcp__database__*'])(
    'is decided by %s in tools.yaml, whatever is said of the server',
    (name) => {
      const servers = [{ name: 'database', isolated: true }]
      expect(isIsolated(query, { servers, tools: [{ name, isolated: false }] }, claude)).toBe(false)
      expect(isIsolated(query, { servers: [], tools: [{ name, isolated: true }] }, claude)).toBe(true)
    },
  )

  it('applies to every name that Claude Code could make of a listed tool', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (server, tool) => {
        const call = named(claude.toolName(server, tool))
        const ref = findCalledTool(call, { agent: claude, servers: [server] })
        return ref !== undefined && isIsolated(ref, rulesOf({ name: server, isolatedTools: [tool] }), claude)
      }),
    )
  })
})

describe('the isolation keys of an entry', () => {
  it.each([
    [{ isolated: 'yes' }, ['isolated']],
    [{ isolatedTools: 'query' }, ['isolatedTools']],
    [{ isolated_tools: [1] }, ['isolated_tools']],
    [{ isolated: true, isolatedTools: ['a'] }, []],
  ])('are reported if they are invalid: %o', (entry, problems) => {
    expect(parseServerRule('a', entry).problems).toEqual(problems)
  })
})
