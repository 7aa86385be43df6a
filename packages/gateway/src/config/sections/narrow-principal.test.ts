import { type Principal, SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { readProfiles } from '../profiles/profiles.ts'
import { findSelections, narrowPrincipal } from './narrow-principal.ts'

const { profiles } = readProfiles(
  'profiles.json',
  Buffer.from(`{"executors": {
  "ANY": {"DEFAULT": {"selected_mcp_tools": ["a", "b"]}},
  "CODEX": {"DEFAULT": {"selected_mcp_tools": ["a"]}, "REVIEWER": {"selected_mcp_tools": ["b"]}, "STRASSE": {}},
  "AMP": {"DEFAULT": {}}
}}`),
)
const caller = (agent: string, profile: string, more: Partial<Principal> = {}): Principal => ({
  ...{ user: 'ann', agent, profile, session: 's', role: 'agent' as const },
  ...more,
})
const selectedFor = (principal: Principal) => findSelections(profiles, principal).map(({ selectors }) => selectors)
const at = (principal: Principal, agent: string, variant: string) => {
  const narrowed = narrowPrincipal(profiles, principal, { agent, variant })
  return narrowed instanceof SallyportError ? narrowed.code : selectedFor(narrowed)
}

describe('a caller', () => {
  it('is limited to its profile, however agent and variant are written', () => {
    for (const agent of ['codex', 'CODEX', 'Codex']) expect(selectedFor(caller(agent, 'Reviewer'))).toEqual([['b']])
    expect(selectedFor(caller('amp', 'default'))).toEqual([])
    expect(selectedFor(caller('cursor', 'default'))).toEqual([])
    expect(selectedFor(caller('cursor', 'whatever'))).toEqual([[]])
  })

  it('has no tool if its profile was removed', () => {
    const [choice] = findSelections(profiles, caller('codex', 'gone'))
    expect(choice).toMatchObject({ selectors: [], whose: expect.stringContaining('codex.gone, which is not in') })
  })

  it('is limited by all selections: of its profile, of the path, and of its launch', () => {
    expect(at(caller('any', 'default'), 'codex', 'reviewer')).toEqual([['b'], ['a', 'b']])
    expect(at(caller('codex', 'default', { tools: ['c'] }), 'codex', 'REVIEWER')).toEqual([['b'], ['a'], ['c']])
    expect(at(caller('codex', 'reviewer'), 'codex', 'Reviewer')).toEqual([['b']])
    expect(at(caller('codex', 'straße'), 'codex', 'STRASSE')).toEqual([])
    expect(at(caller('codex', 'gone'), 'codex', 'gone')).toEqual([[]])
  })

  it('cannot choose another profile than the one of its credential, and no unknown one', () => {
    expect(at(caller('codex', 'reviewer'), 'codex', 'default')).toBe('FORBIDDEN')
    expect(at(caller('amp', 'default'), 'codex', 'default')).toBe('FORBIDDEN')
    expect(at(caller('any', 'default'), 'codex', 'revewer')).toBe('PROFILE_UNKNOWN')
    expect(at(caller('any', 'default'), 'cursor', 'reviewer')).toBe('PROFILE_UNKNOWN')
  })

  it('that chose a profile is marked as having only claimed it', () => {
    const claimed = narrowPrincipal(profiles, caller('any', 'default'), { agent: 'claude', variant: 'default' })
    expect(claimed).toMatchObject({ agent: 'claude-code', isClaimed: true, madeFor: { agent: 'any' } })
  })

  it('is the same object as long as it chooses the same profile', () => {
    const ann = caller('any', 'default')
    const chosen = (variant: string, who = ann) => narrowPrincipal(profiles, who, { agent: 'codex', variant })
    expect(chosen('reviewer')).toBe(chosen('reviewer'))
    expect(chosen('reviewer')).not.toBe(chosen('default'))
    expect(chosen('reviewer')).not.toBe(chosen('reviewer', caller('any', 'default')))
    const first = chosen('default')
    for (let name = 0; name < 1_000; name++)
      narrowPrincipal(profiles, ann, { agent: `agent-${name}`, variant: 'default' })
    expect(chosen('default')).toEqual(first)
  })

  it('is refused if its profile was removed in the meantime', () => {
    const ann = caller('any', 'default')
    const asked = { agent: 'codex', variant: 'reviewer' }
    expect(narrowPrincipal(profiles, ann, asked)).not.toBeInstanceOf(SallyportError)
    expect(narrowPrincipal(new Map(), ann, asked)).toMatchObject({ code: 'PROFILE_UNKNOWN' })
  })
})
