import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import type { EventQuery, EventView, GatewayClient } from '../gateway/gateway-client.ts'
import { findRunningGateway } from '../gateway/with-gateway.ts'

export interface FollowOptions {
  readonly state: string
  readonly query: EventQuery
  /** The newest event that was shown already, if any. */
  readonly after: EventView | undefined
  /** When those events were requested. If there were none, everything since then is still to be shown. */
  readonly asked: Date
  readonly onEvent: (event: EventView) => void
  /** Up to `count` events were missed and cannot be shown. */
  readonly onSkipped: (count: number) => void
  /** Called once each time no gateway is running. */
  readonly onWaiting: () => void
  readonly signal: AbortSignal
}

const PAUSE_MS = 500
/** How many past events a feed may start with, and how many one request may return. The limits of the API. */
const CATCH_UP = 1_000
const PAGE = 10_000
/** Missed events are in memory until they are shown. */
const MAX_PAGES = 10

/** Follows the events of a state forever: through the running gateway, and through the next one after that ends. */
export async function followEvents({
  state,
  query,
  onEvent,
  onSkipped,
  onWaiting,
  signal,
  asked,
  ...options
}: FollowOptions): Promise<never> {
  let last = options.after
  let waiting = false
  for (;;) {
    const gateway = await findRunningGateway(state)
    if (!gateway && !waiting) onWaiting()
    waiting = gateway === undefined
    if (gateway) {
      for await (const event of readEventsSince({ gateway, query, last, asked, onSkipped, signal })) {
        last = event
        onEvent(event)
      }
    }
    await delay(PAUSE_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

interface FeedOptions {
  readonly gateway: GatewayClient
  readonly query: EventQuery
  readonly last: EventView | undefined
  readonly asked: Date
  readonly onSkipped: (count: number) => void
  readonly signal: AbortSignal
}

/** Reads missed events, then the live feed. Sequence numbers ensure that an event in both is shown once. */
async function* readEventsSince({ onSkipped, ...since }: FeedOptions): AsyncGenerator<EventView> {
  const { gateway, query, asked, signal } = since
  let { last } = since
  try {
    // While these are shown, more events may happen than a feed starts with; a gateway disconnects a reader that is too
    // slow.
    for (let missed = CATCH_UP; last !== undefined && missed >= CATCH_UP; ) {
      const { events, skipped } = await readMissedEvents(last, { gateway, query, signal })
      if (skipped > 0) onSkipped(skipped)
      yield* events
      missed = events.length
      last = events.at(-1) ?? last
    }
    const gap = { since: last?.time ?? asked.toISOString(), limit: CATCH_UP }
    for await (const event of gateway.follow({ ...query, ...gap }, signal))
      if (last === undefined || event.seq > last.seq) yield event
  } catch (error) {
    if (!(error instanceof SallyportError) || error.code !== 'GATEWAY_UNREACHABLE') throw error
  }
}

interface MissedEvents {
  /** Oldest first. */
  readonly events: readonly EventView[]
  /** Up to this many older events were skipped, because they do not fit in memory. */
  readonly skipped: number
}

/** The API returns the newest matches, so the pages are read backwards. */
async function readMissedEvents(
  last: EventView,
  { gateway, query, signal }: Pick<FeedOptions, 'gateway' | 'query' | 'signal'>,
): Promise<MissedEvents> {
  let events: readonly EventView[] = []
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const first = events[0]
    const until = first === undefined ? {} : { until: first.time }
    const page = await gateway.events({ ...query, since: last.time, ...until, limit: PAGE }, signal)
    const fresh = page.filter(({ seq }) => seq > last.seq && (first === undefined || seq < first.seq))
    events = [...fresh, ...events]
    if (page.length < PAGE || fresh[0]?.seq === last.seq + 1) return { events, skipped: 0 }
    // More than a page in one millisecond: a time filter cannot reach older events.
    if (fresh.length === 0) break
  }
  return { events, skipped: (events[0]?.seq ?? 0) - last.seq - 1 }
}
