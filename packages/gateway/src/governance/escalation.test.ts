import type { ErrorCode } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { EscalationSettings } from '../config/config.ts'
import { Escalation } from './escalation.ts'
import type { ModeProposal } from './mode-state.ts'

const MINUTE = 60_000

const failed = (code: ErrorCode) => ({ outcome: 'failed', code }) as const

const SETTINGS: EscalationSettings = {
  policyViolations: { count: 3, window: 10 * MINUTE, to: 'ALERT' },
  toolErrors: { rate: 0.5, least: 4, window: 10 * MINUTE, to: 'DEGRADED' },
  upstreamFlapping: { count: 2, window: 10 * MINUTE, to: 'DEGRADED' },
  auditFailing: { lasting: 30_000, to: 'LOCKDOWN' },
}

function openTestEscalation(settings: Partial<EscalationSettings> = {}) {
  const proposals: ModeProposal[] = []
  const clock = { now: 0 }
  const escalation = new Escalation({
    settings: { ...SETTINGS, ...settings },
    now: () => clock.now,
    propose: (proposal) => proposals.push(proposal),
  })
  const times = (count: number, act: () => void): void => Array.from({ length: count }).forEach(act)
  return { escalation, proposals, clock, times }
}

describe(`${promise('GOV-14')} calls that break the rules`, () => {
  it('make the mode stricter if there are enough within the window', () => {
    const { escalation, proposals, clock } = openTestEscalation()
    escalation.callEnded(failed('CALL_DENIED'))
    clock.now = 5 * MINUTE
    escalation.callEnded(failed('SECRET_REFUSED'))
    expect(proposals).toEqual([])
    clock.now = 10 * MINUTE
    escalation.callEnded(failed('ARGUMENTS_FORBIDDEN'))
    expect(proposals).toEqual([{ to: 'ALERT', why: '3 calls broke the rules within 10 min' }])
  })

  it('do not if the first one is outside the window', () => {
    const { escalation, proposals, clock } = openTestEscalation()
    escalation.callEnded(failed('CALL_DENIED'))
    clock.now = 10 * MINUTE + 10_000
    escalation.callEnded(failed('CALL_DENIED'))
    escalation.callEnded(failed('CALL_DENIED'))
    expect(proposals).toEqual([])
    escalation.callEnded(failed('CALL_DENIED'))
    expect(proposals).toHaveLength(1)
  })

  it('are counted from zero after the trigger fired', () => {
    const { escalation, proposals, times } = openTestEscalation()
    times(8, () => escalation.callEnded(failed('CALL_DENIED')))
    expect(proposals).toHaveLength(2)
    escalation.callEnded(failed('CALL_DENIED'))
    expect(proposals).toHaveLength(3)
  })

  it.each<ErrorCode>([
    'MODE_FORBIDS',
    'OVERLOADED',
    'RATE_LIMITED',
    'ARGUMENTS_INVALID',
    'ARGUMENTS_UNCHECKED',
    'APPROVAL_REQUIRED',
    'APPROVAL_EXPIRED',
  ])('do not include calls refused with %s', (code) => {
    const { escalation, proposals, times } = openTestEscalation()
    times(50, () => escalation.callEnded(failed(code)))
    expect(proposals).toEqual([])
  })
})

describe('failing tools', () => {
  it('make the mode stricter at the configured rate, once there are enough calls', () => {
    const { escalation, proposals } = openTestEscalation()
    escalation.callEnded({ outcome: 'tool_error' })
    escalation.callEnded({ outcome: 'success' })
    escalation.callEnded({ outcome: 'tool_error' })
    expect(proposals).toEqual([])
    escalation.callEnded({ outcome: 'success' })
    expect(proposals).toEqual([{ to: 'DEGRADED', why: '2 of 4 calls failed within 10 min' }])
  })

  it('do nothing below that rate', () => {
    const { escalation, proposals, times } = openTestEscalation()
    times(6, () => escalation.callEnded({ outcome: 'success' }))
    times(5, () => escalation.callEnded({ outcome: 'tool_error' }))
    expect(proposals).toEqual([])
    escalation.callEnded(failed('UPSTREAM_DIED'))
    expect(proposals).toEqual([{ to: 'DEGRADED', why: '6 of 12 calls failed within 10 min' }])
  })

  it('are forgotten when they are outside the window', () => {
    const { escalation, proposals, clock, times } = openTestEscalation()
    times(3, () => escalation.callEnded({ outcome: 'tool_error' }))
    clock.now = 11 * MINUTE
    escalation.callEnded({ outcome: 'tool_error' })
    expect(proposals).toEqual([])
  })

  it('never fire if all calls succeed, even at a rate of 0', () => {
    const { escalation, proposals, times } = openTestEscalation({
      toolErrors: { rate: 0, least: 1, window: MINUTE, to: 'ALERT' },
    })
    times(10, () => escalation.callEnded({ outcome: 'success' }))
    expect(proposals).toEqual([])
  })

  it.each<ErrorCode>(['CALL_CANCELLED', 'TOOL_UNKNOWN'])('do not include %s', (code) => {
    const { escalation, proposals, times } = openTestEscalation()
    times(50, () => escalation.callEnded(failed(code)))
    expect(proposals).toEqual([])
  })
})

describe('a server that flaps', () => {
  it('makes the mode stricter, and the reason contains its name', () => {
    const { escalation, proposals } = openTestEscalation()
    for (const server of ['a', 'b', 'a']) {
      escalation.connected(server)
      escalation.lost(server)
    }
    expect(proposals).toEqual([{ to: 'DEGRADED', why: 'the server a was lost 2 times within 10 min' }])
  })

  it('is not a server that cannot be started at all', () => {
    const { escalation, proposals, times } = openTestEscalation()
    times(50, () => escalation.lost('missing'))
    expect(proposals).toEqual([])
  })

  it('is not the same as many servers that are lost once', () => {
    const { escalation, proposals } = openTestEscalation()
    for (let at = 0; at < 50; at++) {
      escalation.connected(`s${at}`)
      escalation.lost(`s${at}`)
    }
    expect(proposals).toEqual([])
  })
})

describe('a log that cannot be written', () => {
  it('makes the mode stricter if that lasts too long', () => {
    const { escalation, proposals, clock } = openTestEscalation()
    escalation.recordFailed()
    clock.now = 29_999
    escalation.recordFailed()
    expect(proposals).toEqual([])
    clock.now = 30_000
    escalation.recordFailed()
    expect(proposals).toEqual([{ to: 'LOCKDOWN', why: 'no record could be written for 30.0 s' }])
    clock.now = 59_999
    escalation.recordFailed()
    expect(proposals).toHaveLength(1)
  })

  it('starts counting again with every record that is written', () => {
    const { escalation, proposals, clock } = openTestEscalation()
    escalation.recordFailed()
    clock.now = 20_000
    escalation.recordWritten()
    clock.now = 40_000
    escalation.recordFailed()
    clock.now = 69_999
    escalation.recordFailed()
    expect(proposals).toEqual([])
  })
})

describe('the settings', () => {
  it('switch each trigger off', () => {
    const off = {
      policyViolations: undefined,
      toolErrors: undefined,
      upstreamFlapping: undefined,
      auditFailing: undefined,
    }
    const { escalation, proposals, clock } = openTestEscalation(off)
    for (clock.now = 0; clock.now < MINUTE; clock.now += 500) {
      escalation.callEnded(failed('CALL_DENIED'))
      escalation.callEnded({ outcome: 'tool_error' })
      escalation.connected('a')
      escalation.lost('a')
      escalation.recordFailed()
    }
    expect(proposals).toEqual([])
  })

  it('reset the counters if they changed, and keep them if they did not', () => {
    const { escalation, proposals } = openTestEscalation()
    escalation.callEnded(failed('CALL_DENIED'))
    escalation.callEnded(failed('CALL_DENIED'))
    escalation.reload({ ...SETTINGS })
    escalation.callEnded(failed('CALL_DENIED'))
    expect(proposals).toHaveLength(1)
    escalation.callEnded(failed('CALL_DENIED'))
    escalation.reload({ ...SETTINGS, policyViolations: { count: 2, window: MINUTE, to: 'LOCKDOWN' } })
    escalation.callEnded(failed('CALL_DENIED'))
    expect(proposals).toHaveLength(1)
    escalation.callEnded(failed('CALL_DENIED'))
    expect(proposals[1]).toMatchObject({ to: 'LOCKDOWN' })
  })
})

it('all counters are reset when a person relaxes the mode', () => {
  const { escalation, proposals, clock } = openTestEscalation()
  escalation.callEnded(failed('CALL_DENIED'))
  escalation.callEnded(failed('CALL_DENIED'))
  escalation.callEnded({ outcome: 'tool_error' })
  escalation.connected('a')
  escalation.lost('a')
  escalation.recordFailed()
  escalation.reset()
  clock.now = 30_000
  escalation.callEnded(failed('CALL_DENIED'))
  escalation.callEnded({ outcome: 'tool_error' })
  escalation.connected('a')
  escalation.lost('a')
  escalation.recordFailed()
  expect(proposals).toEqual([])
})
