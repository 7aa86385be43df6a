import { isStricter, messageOf, SallyportError, type SallyportEvent } from '@sallyport/core'
import type { Settings } from '../config/config.ts'
import type { EventLog } from '../store/store.ts'
import type { CallEnd } from '../telemetry/telemetry.ts'
import { Escalation } from './escalation.ts'
import { type ModeKeeper, openModeKeeper } from './mode-keeper.ts'

export interface ModeWatchOptions {
  readonly state: string
  readonly log: EventLog
  readonly settings: () => Settings
  readonly onTrouble: (text: string) => void
}

/** The mode, and what makes it stricter without anybody's doing. */
export interface ModeWatch {
  readonly keeper: ModeKeeper
  readonly escalation: Escalation
  /** A call came to its end. */
  readonly ended: (end: CallEnd) => void
}

export function openModeWatch({ state, log, settings, onTrouble }: ModeWatchOptions): ModeWatch {
  const record = (event: SallyportEvent): Promise<void> => recordDurably(event, { log, settings, onTrouble })
  const keeper = openModeKeeper({ state, now: () => new Date(), record, onTrouble })
  const escalation = new Escalation({
    settings: settings().governance.escalation,
    now: () => performance.now(),
    propose: (proposal) => void keeper.escalate(proposal),
  })
  // What a person has looked at and forgiven does not count again.
  keeper.onChange(({ from, to }) => {
    if (isStricter(from, to)) escalation.reset()
  })
  tellUnusual(keeper, onTrouble)
  return { keeper, escalation, ended: feedFrom(log, escalation) }
}

function feedFrom(log: EventLog, escalation: Escalation): ModeWatch['ended'] {
  let { failures } = log
  return (end) => {
    escalation.ended(end)
    if (log.failures > failures) escalation.unrecorded()
    else escalation.recorded()
    failures = log.failures
  }
}

/** Whoever starts a gateway that refuses much should know why. */
function tellUnusual({ current: { mode, by, why }, trouble }: ModeKeeper, onTrouble: (text: string) => void): void {
  if (mode === 'NORMAL' || trouble !== undefined) return
  onTrouble(`The mode is ${mode}, set by ${by}${why && ` (${why})`}. \`sallyport mode\` says more.`)
}

async function recordDurably(
  event: SallyportEvent,
  { log, settings, onTrouble }: Omit<ModeWatchOptions, 'state'>,
): Promise<void> {
  try {
    log.append(event)
    await log.sync()
  } catch (error) {
    if (!(error instanceof SallyportError) || settings().audit.required) throw error
    onTrouble(`${event.type} could not be recorded: ${messageOf(error)}`)
  }
}
