import { createRoute, z } from '@hono/zod-openapi'
import type { LoggedEvent } from '@sallyport/core'
import type { AdminContext } from '../../admin/admin-context.ts'
import { strictInput } from '../invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from '../routes.ts'
import { findServer } from '../servers.ts'

const HEALTH_STATES = ['up', 'unhealthy', 'down', 'needs-login', 'off', 'unknown'] as const

const healthSchema = z
  .object({
    since: z.iso.datetime(),
    spans: z
      .array(
        z.object({
          from: z.iso.datetime(),
          to: z.iso.datetime(),
          state: z.enum(HEALTH_STATES),
          reason: z.string().optional(),
        }),
      )
      .openapi({ description: 'Without gaps, oldest first. `off`: the gateway did not run.' }),
    restarts: z.number().int().openapi({
      description:
        'How often it was started again: after it was lost, by a person, or because its configuration changed.',
    }),
    latency: z
      .object({ calls: z.number().int(), p50: z.number(), p95: z.number(), max: z.number() })
      .optional()
      .openapi({ description: 'Milliseconds, of its newest 1,000 calls since then; missing if there are none.' }),
    changes: z
      .array(
        z.object({
          time: z.iso.datetime(),
          added: z.array(z.string()),
          removed: z.array(z.string()),
          changed: z.array(z.string()),
        }),
      )
      .openapi({ description: 'How its tools changed, newest last.' }),
  })
  .openapi('ServerHealth')

export type ServerHealth = z.infer<typeof healthSchema>

const getHealth = createRoute({
  method: 'get',
  path: '/servers/{id}/health',
  summary: 'When a server worked, and how fast, according to the records',
  request: {
    params: strictInput({ id: z.string() }),
    query: strictInput({
      since: z.iso.datetime({ offset: true }).optional().openapi({ description: 'One day ago if missing.' }),
    }),
  },
  responses: { 200: jsonResponse(healthSchema, 'Its history.'), ...PROBLEM_RESPONSES },
})

const DAY_MS = 86_400_000

export const serverHealthRoutes = (context: AdminContext) =>
  createRoutes().openapi(getHealth, async (c) => {
    await context.fleet.waitUntilConfigured()
    const { id } = findServer(context, c.req.valid('param').id).config
    const { since } = c.req.valid('query')
    const from = since === undefined ? new Date(Date.now() - DAY_MS) : new Date(since)
    return c.json(await readHealth(context, id, from), 200)
  })

const SERVER_TYPES = [
  'UPSTREAM_CONNECTED',
  'UPSTREAM_RESTARTED',
  'UPSTREAM_HEALTHY',
  'UPSTREAM_UNHEALTHY',
  'UPSTREAM_LOST',
  'UPSTREAM_NEEDS_LOGIN',
] as const
const GATEWAY_TYPES = ['GATEWAY_STARTED', 'GATEWAY_STOPPED'] as const
const RESTART_TYPES = ['UPSTREAM_RESTART_REQUESTED', 'CONFIG_RELOADED'] as const
const MAX_RECORDS = 1_000

type HealthEvent = Extract<LoggedEvent, { type: (typeof SERVER_TYPES)[number] | (typeof GATEWAY_TYPES)[number] }>
type RestartEvent = Extract<LoggedEvent, { type: (typeof RESTART_TYPES)[number] }>
type CompletedCall = Extract<LoggedEvent, { type: 'TOOL_CALL_COMPLETED' }>
type DiscoveredTools = Extract<LoggedEvent, { type: 'TOOLS_DISCOVERED' }>

async function readHealth({ store }: AdminContext, server: string, since: Date): Promise<ServerHealth> {
  const find = <Event extends LoggedEvent>(types: readonly LoggedEvent['type'][], more: object) =>
    store.find({ types, limit: MAX_RECORDS, ...more }) as Promise<readonly Event[]>
  const [own, gateway, requested, reloaded, [before], calls, changes] = await Promise.all([
    find<HealthEvent>(SERVER_TYPES, { server, since }),
    find<HealthEvent>(GATEWAY_TYPES, { since }),
    find<RestartEvent>(['UPSTREAM_RESTART_REQUESTED'], { server, since }),
    find<RestartEvent>(['CONFIG_RELOADED'], { since }),
    find<HealthEvent>(SERVER_TYPES, { server, until: since, limit: 1 }),
    find<CompletedCall>(['TOOL_CALL_COMPLETED'], { server, since }),
    find<DiscoveredTools>(['TOOLS_DISCOVERED'], { server, since, limit: 100 }),
  ])
  const events = [...own, ...gateway].filter(isOfMainInstance).sort((a, b) => a.seq - b.seq)
  const latency = summarize(calls.map(({ latency_ms }) => latency_ms))
  return {
    since: since.toISOString(),
    spans: buildSpans({ events, since, initial: before && isOfMainInstance(before) ? stateAfter(before) : UNKNOWN }),
    restarts: countRestarts([...events, ...requested, ...reloaded], server),
    ...(latency && { latency }),
    changes: changes.map(({ time, added, removed, changed }) => ({
      ...{ time, added: [...added], removed: [...removed], changed: [...changed] },
    })),
  }
}

/** The isolated instance of a server has a history of its own. */
const isOfMainInstance = (event: HealthEvent): boolean => !('instance' in event) || event.instance === undefined

/** Also attempts that failed: a server that ends at once never reports that it was restarted. */
function countRestarts(events: readonly (HealthEvent | RestartEvent)[], server: string): number {
  let [restarts, isLost] = [0, false]
  for (const event of events.toSorted((a, b) => a.seq - b.seq)) {
    const isOrdered =
      event.type === 'UPSTREAM_RESTART_REQUESTED' ||
      (event.type === 'CONFIG_RELOADED' && event.restarted.includes(server))
    if (isOrdered || (isLost && RETRY_ENDS.has(event.type))) restarts++
    if (event.type === 'UPSTREAM_LOST') isLost = true
    else if (event.type !== 'CONFIG_RELOADED' || isOrdered) isLost = false
  }
  return restarts
}

/** After a server was lost, each of these is the end of an attempt to start it again. */
const RETRY_ENDS: ReadonlySet<string> = new Set(['UPSTREAM_LOST', 'UPSTREAM_RESTARTED', 'UPSTREAM_NEEDS_LOGIN'])

type Span = ServerHealth['spans'][number]
type HealthState = Pick<Span, 'state' | 'reason'>

const UNKNOWN: HealthState = { state: 'unknown' }

function stateAfter(event: HealthEvent): HealthState {
  switch (event.type) {
    case 'UPSTREAM_CONNECTED':
    case 'UPSTREAM_RESTARTED':
    case 'UPSTREAM_HEALTHY':
      return { state: 'up' }
    case 'UPSTREAM_UNHEALTHY':
      return { state: 'unhealthy', reason: event.reason }
    case 'UPSTREAM_LOST':
      return { state: 'down', reason: event.reason }
    case 'UPSTREAM_NEEDS_LOGIN':
      return { state: 'needs-login', reason: event.reason }
    case 'GATEWAY_STOPPED':
      return { state: 'off' }
    case 'GATEWAY_STARTED':
      return UNKNOWN
  }
}

interface SpanSource {
  readonly events: readonly HealthEvent[]
  readonly since: Date
  readonly initial: HealthState
}

function buildSpans({ events, since, initial }: SpanSource): Span[] {
  const spans: Span[] = []
  let [from, current] = [since.toISOString(), initial]
  const close = (to: string): void => {
    if (to > from) spans.push({ from, to, ...current })
  }
  for (const event of events) {
    const next = stateAfter(event)
    if (next.state === current.state && next.reason === current.reason) continue
    close(event.time)
    from = event.time
    current = next
  }
  close(new Date().toISOString())
  return spans
}

function summarize(latencies: readonly number[]): ServerHealth['latency'] {
  if (latencies.length === 0) return undefined
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return { calls: sorted.length, p50: at(0.5), p95: at(0.95), max: at(1) }
}
