import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { ADAPTERS } from '../agents/agents.ts'
import { DEFAULT_SETTINGS } from '../config/config.ts'
import { Audiences, EVERYTHING } from './audience.ts'

const audiencesWith = (cap: number | 'auto' | undefined): Audiences =>
  new Audiences({
    settings: () => ({ context: { ...DEFAULT_SETTINGS.context, cap } }),
    agents: ADAPTERS,
  })

const limitOf = (id: string): number | undefined => ADAPTERS.find((adapter) => adapter.id === id)?.results.maxCharacters

const auto = audiencesWith('auto')
const call = (agent: string, clientName: unknown, hasSchema = false) =>
  auto.forCall({ agent, clientName, hasOutputSchema: () => hasSchema })

describe(`${promise('ISO-13')} how much of a result a caller is shown`, () => {
  it.each(ADAPTERS.map(({ id }) => id))('is the limit of %s for its credential, however it is written', (id) => {
    const cap = limitOf(id)
    expect(auto.of(id)).toMatchObject({ cap })
    expect(auto.of(id.toUpperCase().replaceAll('-', '_'))).toMatchObject({ cap })
  })

  it.each(['any', 'my-bot', '', '__proto__', 'constructor', 'claude-code\n', 'claude'.repeat(9_000)])(
    'is everything for %j, which is not a known agent',
    (agent) => {
      expect(auto.of(agent)).toBe(EVERYTHING)
    },
  )

  it('is the same for everybody if there is a number, and everything if it is off', () => {
    for (const agent of ['any', 'goose', 'codex']) {
      expect(audiencesWith(2_000).of(agent)).toMatchObject({ cap: 2_000, errorCap: 2_000 })
      expect(audiencesWith(undefined).of(agent)).toBe(EVERYTHING)
      const said = { agent, clientName: 'codex-mcp-client', hasOutputSchema: () => false }
      expect(audiencesWith(100_000).forCall(said)).toMatchObject({ cap: 100_000 })
      expect(audiencesWith(undefined).forCall(said)).toBe(EVERYTHING)
    }
  })

  it('is less for an error, if the agent cuts errors earlier', () => {
    expect(auto.of('claude-code')).toMatchObject({ cap: 24_000, errorCap: 10_000 })
  })

  it('is lowered by what a client says of itself, and never raised', () => {
    expect(call('any', 'codex-mcp-client').cap).toBe(limitOf('codex'))
    expect(call('any', 'qwen-cli-mcp-client-gw').cap).toBe(limitOf('qwen-code'))
    expect(call('claude-code', 'codex-mcp-client').cap).toBe(limitOf('codex'))
    expect(call('codex', 'goose-cli').cap).toBe(limitOf('codex'))
    expect(call('cline', 'claude-code')).toMatchObject({ cap: limitOf('cline'), errorCap: limitOf('cline') })
    for (const name of ['test', '', undefined, 7, { name: 'codex-mcp-client' }, 'x'.repeat(100_000)])
      expect(call('any', name)).toBe(EVERYTHING)
  })

  it('stays whole for a tool whose schema the list still promises, if that client insists on it', () => {
    expect(call('any', 'claude-code', true)).toBe(EVERYTHING)
    expect(call('any', 'codex-mcp-client', true).cap).toBe(limitOf('codex'))
    // The list for OpenCode has no such schema, so nothing is promised.
    expect(call('opencode', 'claude-code', true).cap).toBe(limitOf('claude-code'))
  })
})
