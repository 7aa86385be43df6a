import type { LoggedEvent } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { ReplayedDecision } from './call-replayer.ts'
import type { RecordedCall } from './recorded-call.ts'
import { ReplayTally } from './replay-tally.ts'

let seq = 0
const event = (type: LoggedEvent['type'], callId: string, more: object = {}): LoggedEvent =>
  ({
    ...{ seq: ++seq, time: '2026-05-01T10:00:00.000Z', type, call_id: callId, trace_id: 't', user: 'ann' },
    ...{ agent: 'codex', profile: 'default', session: 's', server: 'files', method: 'tools/call' },
    ...{ tool_name: 'mcp__files__weigh', is_mcp: true, steps: { select: 'allow' }, mode: 'NORMAL', arguments: {} },
    ...more,
  }) as unknown as LoggedEvent

async function reportOf(events: readonly LoggedEvent[], decide: (recorded: RecordedCall) => ReplayedDecision) {
  let decided = 0
  const tally = new ReplayTally(async (recorded) => {
    decided++
    return decide(recorded)
  })
  for (const each of events) await tally.addEvent(each)
  return { ...(await tally.report()), decided }
}

const ALLOWED = (): ReplayedDecision => ({ outcome: 'allow', reason: '' })

describe('the tally of a replay', () => {
  it('counts each call once, and decides equal calls only once', async () => {
    const events = ['a', 'b', 'c'].flatMap((id) => [event('TOOL_CALL_STARTED', id), event('TOOL_CALL_COMPLETED', id)])
    const report = await reportOf([...events, event('TOOL_CALL_STARTED', 'still running')], ALLOWED)
    expect(report).toMatchObject({ calls: 4, same: 4, changed: 0, undecided: 0, decided: 1 })
  })

  it('decides calls separately if they differ in anything that a decision can depend on', async () => {
    const others: readonly object[] = [
      { tool_name: 'mcp__files__read' },
      { server: 'else' },
      { method: 'prompts/get' },
      { agent: 'claude-code' },
      { profile: 'reviewer' },
      { mode: 'ALERT' },
      { arguments: { a: 1 } },
      { arguments: undefined },
      { steps: { select: 'allow', validate: 'allow' } },
      { steps: { select: 'allow', arguments: 'allow' } },
    ]
    const events = [{}, ...others, {}].map((more, at) => event('TOOL_CALL_STARTED', `c${at}`, more))
    expect(await reportOf(events, ALLOWED)).toMatchObject({ calls: 12, decided: 11 })
  })

  it('uses the last decision about a call, and counts a call that people answered as one that asked', async () => {
    const denied = { steps: { select: 'allow', mode: 'deny' }, error: 'MODE_FORBIDS' }
    const asked = { steps: { approve: 'ask' }, decided_by: { step: 'approve', reason: '' }, error: 'APPROVAL_DENIED' }
    const seen: string[] = []
    const report = await reportOf(
      [
        event('TOOL_CALL_STARTED', 'overruled'),
        event('POLICY_DENIED', 'overruled', denied),
        event('POLICY_DENIED', 'unapproved', asked),
        event('TOOL_CALL_STARTED', 'approved', { approval: 'a1', arguments: { b: 1 } }),
        event('TOOL_CALL_STARTED', 'refused by its server', { arguments: { c: 1 } }),
        event('POLICY_DENIED', 'refused by its server', { error: 'CALL_DENIED', arguments: { c: 1 } }),
        event('TOOL_CALL_FAILED', 'refused by its server'),
      ],
      ({ outcome }) => {
        seen.push(outcome)
        return ALLOWED()
      },
    )
    expect(seen.toSorted()).toEqual(['allow', 'ask', 'ask', 'deny'])
    expect(report).toMatchObject({ calls: 4, same: 1, changed: 3 })
    expect(report.changes.map(({ from, to, calls }) => `${from} ${to} ${calls}`)).toEqual([
      'ask allow 2',
      'deny allow 1',
    ])
  })

  it('ignores incomplete records', async () => {
    const torn = [
      event('TOOL_CALL_STARTED', 'a', { tool_name: 7 }),
      event('POLICY_DENIED', 'b', { server: undefined }),
      event('POLICY_DENIED', 'c', { steps: undefined, arguments: undefined, mode: 'unknown' }),
    ]
    expect(await reportOf(torn, ({ outcome }) => ({ outcome, reason: '' }))).toMatchObject({ calls: 1, same: 1 })
  })

  it('groups changes by tool and rule, with some examples, and leaves other methods out', async () => {
    const rule = { file: 'new.yaml', line: 9 }
    const many = Array.from({ length: 20 }, (_, at) => event('TOOL_CALL_STARTED', `c${at}`, { arguments: { at } }))
    const report = await reportOf([...many, event('TOOL_CALL_STARTED', 'x', { method: 'tasks/get' })], (recorded) => ({
      ...{ outcome: 'deny', step: 'arguments', rule },
      reason: `not ${JSON.stringify(recorded.arguments)}`,
    }))
    expect(report).toMatchObject({ calls: 20, changed: 20 })
    expect(report.changes).toEqual([
      expect.objectContaining({ from: 'allow', to: 'deny', rule, calls: 20, examples: ['c0', 'c1', 'c2'] }),
    ])
  })
})
