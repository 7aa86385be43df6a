import { describe, expect, it } from 'vitest'
import { stateRefusal } from './state-refusal.ts'
import type { UpstreamState } from './upstream-status.ts'

const refusal = (state: UpstreamState, more: { reason?: string; retryAt?: number } = {}) =>
  stateRefusal({ id: 'files', state, reason: undefined, retryAt: undefined, ...more }, 1_000)

describe('the error of a call whose server cannot take it', () => {
  it.each([
    ['disabled', 'UPSTREAM_DISABLED'],
    ['starting', 'UPSTREAM_STARTING'],
    ['restarting', 'UPSTREAM_RESTARTING'],
    ['broken', 'UPSTREAM_BROKEN'],
    ['needs-login', 'UPSTREAM_NEEDS_LOGIN'],
    ['closed', 'UPSTREAM_UNAVAILABLE'],
  ] as const)('has the state %s in its code %s', (state, code) => {
    expect(refusal(state)).toMatchObject({ code, message: `Server files is ${state}.` })
  })

  it('states the reason, with one full stop, and the time of the next attempt', () => {
    const { message, hint } = refusal('needs-login', { reason: 'It answered 401.', retryAt: 1_250 })
    expect(message).toBe('Server files is needs-login: It answered 401. Next attempt in 250 ms.')
    expect(hint).toContain('`sallyport servers files`')
  })

  it('does not announce an attempt in 0 ms while one is running', () => {
    for (const retryAt of [1_000, 400])
      expect(refusal('broken', { reason: 'it exited', retryAt }).message).toBe(
        'Server files is broken: it exited. The next attempt is running.',
      )
  })
})
