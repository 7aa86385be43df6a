import { join } from 'node:path'
import { didYouMean, type EventType, SallyportError } from '@sallyport/core'
import { type EventFilter, readRecords } from '../../store/store.ts'
import type { CliContext } from '../cli-context.ts'
import { resolveState } from '../find-home.ts'
import type { EventView } from '../gateway/gateway-client.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { type AuditFilter, createVerdictFilter, toEventQuery } from './audit-filter.ts'

export interface LoggedRecord {
  readonly event: EventView
  /** Exactly as it is in the log. */
  readonly line: string
}

/** All matching records, oldest first, from the log files: with or without a running gateway, and without a limit. */
export async function* readLoggedRecords(
  context: CliContext,
  flags: AuditFilter & GlobalFlags,
): AsyncGenerator<LoggedRecord> {
  const folder = join(resolveState(context, flags), 'logs')
  const matches = createVerdictFilter(flags)
  for await (const { event, line } of readRecords(folder, await toEventFilter(flags), context.signal))
    if (matches(event)) yield { event: event as EventView, line }
}

async function toEventFilter(flags: AuditFilter): Promise<EventFilter> {
  const { since, until } = flags
  const { trace, type, since: _since, until: _until, limit: _limit, ...same } = toEventQuery(flags)
  const types = await parseEventTypes(type)
  return {
    ...same,
    ...(since && { since }),
    ...(until && { until }),
    ...(types && { types }),
    ...(trace !== undefined && { traceId: trace }),
  }
}

/** The types of `--type`. Throws USAGE for an unknown type. */
export async function parseEventTypes(typed: string | undefined): Promise<readonly EventType[] | undefined> {
  if (typed === undefined) return undefined
  const { EVENT_TYPES } = await import('../../serve/api/api.ts')
  const known: readonly string[] = EVENT_TYPES
  const types = typed.split(',')
  const unknown = types.find((type) => !known.includes(type))
  if (unknown === undefined) return types as readonly EventType[]
  throw new SallyportError('USAGE', `There is no event type "${unknown}".${didYouMean(unknown, known)}`, {
    hint: `There are ${known.join(', ')}.`,
  })
}
