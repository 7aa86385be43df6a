import { join } from 'node:path'
import { didYouMean, type EventType, SallyportError } from '@sallyport/core'
import { type EventFilter, readRecords } from '../../store/store.ts'
import { type AuditFilter, eventQuery, FILTER_FLAGS, verdictTest } from '../audit-filter.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { stateOf } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createScreen } from '../screen.ts'

export const exportCommand = defineCommand<AuditFilter>({
  brief: 'Print all records that match, as they stand in the log: JSON lines',
  description: 'There is no limit. It reads the files of the log, whether a gateway runs or not.',
  examples: [
    ['audit export > all.jsonl', 'Everything that is kept'],
    ['audit export --since 30d --verdict deny', 'What was refused in a month'],
  ],
  flags: FILTER_FLAGS,
  run: exportRecords,
})

async function exportRecords(context: CliContext, flags: AuditFilter & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const folder = join(stateOf(context, flags), 'logs')
  const isMeant = verdictTest(flags)
  let count = 0
  for await (const { event, line } of readRecords(folder, await filterOf(flags), context.signal)) {
    if (!isMeant(event)) continue
    screen.foreign(`${line}\n`)
    count++
  }
  if (!screen.json) screen.say(count === 1 ? '1 record.' : `${count} records.`)
}

async function filterOf(flags: AuditFilter): Promise<EventFilter> {
  const { since, until } = flags
  const { trace, type, since: _since, until: _until, limit: _limit, ...same } = eventQuery(flags)
  const types = type === undefined ? undefined : await knownTypes(type.split(','))
  return {
    ...same,
    ...(since && { since }),
    ...(until && { until }),
    ...(types && { types }),
    ...(trace !== undefined && { traceId: trace }),
  }
}

async function knownTypes(typed: readonly string[]): Promise<readonly EventType[]> {
  const { EVENT_TYPES } = await import('../../serve/api/api.ts')
  const known: readonly string[] = EVENT_TYPES
  const unknown = typed.find((type) => !known.includes(type))
  if (unknown === undefined) return typed as readonly EventType[]
  throw new SallyportError('USAGE', `No event is a "${unknown}".${didYouMean(unknown, known)}`)
}
