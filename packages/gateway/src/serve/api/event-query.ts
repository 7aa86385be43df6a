import { z } from '@hono/zod-openapi'
import { didYouMean, type EventType } from '@sallyport/core'
import type { EventFilter } from '../../store/store.ts'

/** A record and not a list, so that a missing type is a compile error. */
const KNOWN_TYPES: Readonly<Record<EventType, true>> = {
  TOOL_CALL_STARTED: true,
  TOOL_CALL_COMPLETED: true,
  TOOL_CALL_FAILED: true,
  CLIENT_ASKED: true,
  CLIENT_ANSWERED: true,
  POLICY_DENIED: true,
  GATEWAY_STARTED: true,
  GATEWAY_STOPPED: true,
  UPSTREAM_CONNECTED: true,
  UPSTREAM_DROPPED: true,
  UPSTREAM_HEALTHY: true,
  UPSTREAM_UNHEALTHY: true,
  UPSTREAM_LOST: true,
  UPSTREAM_NEEDS_LOGIN: true,
  UPSTREAM_RESTARTED: true,
  COUNTERPART_DRIFTED: true,
  SANDBOX_STARTED: true,
  SANDBOX_OMITTED: true,
  SANDBOX_NARROWED: true,
  SANDBOX_STOPPED: true,
  EGRESS_DECIDED: true,
  TOOLS_DISCOVERED: true,
  CONFIG_RELOADED: true,
  CONFIG_WRITTEN: true,
  UPSTREAM_RESTART_REQUESTED: true,
  CONFIG_REJECTED: true,
  CREDENTIALS_REFUSED: true,
  PROFILES_CHANGED: true,
  TOKEN_MINTED: true,
  TOKEN_REVOKED: true,
  SENSITIVITY_RAISED: true,
  SESSION_ENDED: true,
  SESSION_DATA_REMOVED: true,
  RESULT_READ: true,
  APPROVAL_REQUESTED: true,
  APPROVAL_ANSWERED: true,
  APPROVAL_EXPIRED: true,
  MODE_CHANGED: true,
  TOOLS_WRITTEN: true,
  TOOLS_EDITED: true,
  TOOLS_FILE_RELOADED: true,
  TOOLS_FILE_REJECTED: true,
  PIN_CHANGED: true,
  DEFINITION_DRIFTED: true,
  DEFINITION_SUSPICIOUS: true,
  FINDINGS_ACCEPTED: true,
  LOG_TRIMMED: true,
  LOG_REPAIRED: true,
  LOG_RESUMED: true,
}

export const EVENT_TYPES = Object.keys(KNOWN_TYPES) as EventType[]

/** An event of the log. */
export const eventSchema = z
  .looseObject({ seq: z.number().int(), time: z.iso.datetime(), type: z.enum(EVENT_TYPES) })
  .openapi('Event')

const typesSchema = z
  .string()
  .transform((text) => text.split(','))
  .superRefine((types, issues) => {
    for (const type of types.filter((each) => !Object.hasOwn(KNOWN_TYPES, each)))
      issues.addIssue({
        code: 'custom',
        message: `${JSON.stringify(type)} is not an event type.${didYouMean(type, EVENT_TYPES)}`,
      })
  })
  .openapi({ type: 'string', description: `One or more of these, separated by commas: ${EVENT_TYPES.join(', ')}.` })

const timestampSchema = z.iso.datetime({ offset: true }).openapi({ description: 'ISO 8601 with Z or an offset.' })

export const filterFields = {
  since: timestampSchema.optional(),
  until: timestampSchema.optional(),
  agent: z.string().optional(),
  session: z.string().optional(),
  server: z.string().optional(),
  tool: z.string().max(500).optional().openapi({ description: 'Any form of a tool’s name, or a glob.' }),
  type: typesSchema.optional(),
  trace: z.string().optional(),
  call: z.string().optional(),
}

/** Returns only the newest events. */
export const limitField = (max: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/, 'expected a whole number')
    .transform(Number)
    .refine((limit) => limit <= max, `expected at most ${max}`)
    .openapi({ type: 'integer', minimum: 0, maximum: max })

const filterSchema = z.object(filterFields)

export function toEventFilter(query: z.infer<typeof filterSchema>): EventFilter {
  const { since, until, type, trace, call, ...same } = query
  const filter = {
    ...same,
    since: since && new Date(since),
    until: until && new Date(until),
    types: type,
    traceId: trace,
    callId: call,
  }
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as EventFilter
}
