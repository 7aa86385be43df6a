import { setImmediate as yieldToCalls } from 'node:timers/promises'
import type { LoggedEvent } from '@sallyport/core'
import {
  CallReplayer,
  type DecisionRecord,
  type ReplayReport,
  ReplayTally,
  readRecordedCall,
} from '../replay/replay.ts'
import type { ReplayedCall, ReplayRequest } from '../serve/serve.ts'
import type { Gateway } from './gateway.ts'

const RECORD_TYPES: readonly LoggedEvent['type'][] = [
  'TOOL_CALL_STARTED',
  'POLICY_DENIED',
  'TOOL_CALL_COMPLETED',
  'TOOL_CALL_FAILED',
]

/** A day may have 100,000 calls: those that are made meanwhile do not wait for all of them. */
const MAX_TURN_MS = 10

/** Decides the recorded calls again, by a tools.yaml that is not in force yet. */
export async function replayRules(
  { catalog, settings, governance, store }: Gateway,
  { tools, since, signal }: ReplayRequest,
): Promise<ReplayReport> {
  const { environment, check } = governance
  const replayer = new CallReplayer({ catalog, settings, tools, environment, check })
  const tally = new ReplayTally((recorded) => replayer.decide(recorded))
  let began = performance.now()
  for await (const event of store.each({ since, types: RECORD_TYPES }, signal)) {
    await tally.addEvent(event)
    if (performance.now() - began < MAX_TURN_MS) continue
    await yieldToCalls()
    began = performance.now()
  }
  return tally.report()
}

/** Decides one recorded call again: by the rules and the mode of now, and with the label that its session had. */
export async function replayCall(
  { catalog, settings, governance }: Gateway,
  record: DecisionRecord,
): Promise<ReplayedCall> {
  const { environment, check, tools, modes } = governance
  const { mode } = modes.state.current
  const recorded = readRecordedCall(record)
  const replayer = new CallReplayer({ catalog, settings, tools: tools.file, environment, mode, check })
  return { ...(await replayer.decide(recorded)), before: recorded.outcome }
}
