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

/** The mode, and what makes it stricter without anybody's doing. */
export interface ModeWatch {
  readonly state: ModeState
  readonly escalation: Escalation
  /** A call came to its end. */
  readonly callEnded: (end: CallEnd) => void
}

export function openModeWatch({ state, log, settings, onWarning }: ModeWatchOptions): ModeWatch {
  const record = (event: SallyportEvent): Promise<void> => recordDurably(event, { log, settings, onWarning })
  const keeper = openModeState({ state, now: () => new Date(), record, onWarning })
  const escalation = new Escalation({
    settings: settings().governance.escalation,
    now: () => performance.now(),
    propose: (proposal) => void keeper.escalate(proposal),
  })
  // What a person has looked at and forgiven does not count again.
  keeper.onChange(({ from, to }) => {
    if (isStricter(from, to)) escalation.reset()
  })
  warnUnlessNormal(keeper, onWarning)
  return { state: keeper, escalation, callEnded: createCallObserver(log, escalation) }
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

/** Whoever starts a gateway that refuses much should know why. */
function warnUnlessNormal({ current: { mode, by, why }, problem }: ModeState, onTrouble: (text: string) => void): void {
  if (mode === 'NORMAL' || problem !== undefined) return
  onTrouble(`The mode is ${mode}, set by ${by}${why && ` (${why})`}. \`sallyport mode\` says more.`)
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
