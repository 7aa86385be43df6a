import type { EventLog, Recordable } from '../store/store.ts'
import type { Escalation } from './escalation.ts'

/** How the record of a call that came to an end begins: it is handed over as text. */
const COMPLETED = '"type":"TOOL_CALL_COMPLETED"'
/** A quotation mark inside of a string is written with a backslash, so that no name can hold this. */
const WELL = '"success":true'

/** The log, as whoever records calls sees it: what passes, and whether it gets in, is told to the escalation. */
export function createWatchfulLog(log: EventLog, escalation: Escalation): EventLog {
  return {
    append: (event) => {
      heed(event, escalation)
      try {
        log.append(event)
      } catch (error) {
        escalation.unrecorded()
        throw error
      }
      escalation.recorded()
    },
    appendSoon: async (event) => {
      heed(event, escalation)
      const failure = await log.appendSoon(event)
      if (failure === undefined) escalation.recorded()
      else escalation.unrecorded()
      return failure
    },
    get failures() {
      return log.failures
    },
    watch: (listener) => log.watch(listener),
    sync: () => log.sync(),
  }
}

function heed(event: Recordable, escalation: Escalation): void {
  if ('members' in event) {
    if (event.members.startsWith(COMPLETED)) escalation.ended(event.members.includes(WELL) ? 'well' : 'badly')
  } else escalation.heed(event)
}
