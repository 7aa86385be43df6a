import { isStricter, messageOf, SallyportError, type SallyportEvent } from '@sallyport/core'
import type { Settings } from '../config/config.ts'
import type { EventLog } from '../store/store.ts'
import type { CallEnd } from '../telemetry/telemetry.ts'
import { Escalation } from './escalation.ts'
import { type ModeState, openModeState } from './mode-state.ts'

export interface ModeWatchOptions {
  readonly state: string
  readonly log: EventLog
  readonly settings: () => Settings
  readonly onWarning: (text: string) => void
}

/** The mode, and the escalation that makes it stricter automatically. */
export interface ModeWatch {
  readonly state: ModeState
  readonly escalation: Escalation
  /** Must be called when a call has ended. */
  readonly callEnded: (end: CallEnd) => void
}

export function openModeWatch({ state, log, settings, onWarning }: ModeWatchOptions): ModeWatch {
  const record = (event: SallyportEvent): Promise<void> => recordDurably(event, { log, settings, onWarning })
  const modeState = openModeState({ state, now: () => new Date(), record, onWarning })
  const escalation = new Escalation({
    settings: settings().governance.escalation,
    now: () => performance.now(),
    propose: (proposal) => void modeState.escalate(proposal),
  })
  // When a person relaxes the mode, the earlier incidents must not count again.
  modeState.onChange(({ from, to }) => {
    if (isStricter(from, to)) escalation.reset()
  })
  warnUnlessNormal(modeState, onWarning)
  return { state: modeState, escalation, callEnded: createCallObserver(log, escalation) }
}

function createCallObserver(log: EventLog, escalation: Escalation): ModeWatch['callEnded'] {
  let { failures } = log
  return (end) => {
    escalation.callEnded(end)
    if (log.failures > failures) escalation.recordFailed()
    else escalation.recordWritten()
    failures = log.failures
  }
}

/** In a strict mode the gateway refuses many calls, so the person who starts it should know why. */
function warnUnlessNormal({ current: { mode, by, why }, problem }: ModeState, onWarning: (text: string) => void): void {
  if (mode === 'NORMAL' || problem !== undefined) return
  onWarning(`The mode is ${mode}, set by ${by}${why && ` (${why})`}. \`sallyport mode\` shows more.`)
}

async function recordDurably(
  event: SallyportEvent,
  { log, settings, onWarning }: Omit<ModeWatchOptions, 'state'>,
): Promise<void> {
  try {
    log.append(event)
    await log.sync()
  } catch (error) {
    if (!(error instanceof SallyportError) || settings().audit.required) throw error
    onWarning(`${event.type} could not be recorded: ${messageOf(error)}`)
  }
}
