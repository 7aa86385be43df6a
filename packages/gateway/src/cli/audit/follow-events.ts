import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import type { EventQuery, EventView, GatewayClient } from '../gateway/gateway-client.ts'
import { findRunningGateway } from '../gateway/with-gateway.ts'

export interface FollowOptions {
  readonly state: string
  readonly query: EventQuery
  /** The newest that were shown already, if any. */
  readonly after: EventView | undefined
  /** When these were asked for: where there were none, what happened since is yet to be shown. */
  readonly asked: Date
  readonly onEvent: (event: EventView) => void
  /** At most so many were missed and could not be caught up with. */
  readonly onSkipped: (count: number) => void
  /** There is no gateway to follow; called once for each time that there is none. */
  readonly onWaiting: () => void
  readonly signal: AbortSignal
}

const PAUSE_MS = 500
/** What a feed may begin with, and what one question may ask for; the same that the API allows. */
const CATCH_UP = 1_000
const PAGE = 10_000
/** They stay in memory until they were shown. */
const MAX_PAGES = 10

/** Follows the events of a state for ever: over the gateway that runs on it, and over the next one when that ends. */
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

/** The seam is closed by the log's own numbers: what stands twice, before and after it, is shown once. */
async function* readEventsSince({ onSkipped, ...since }: FeedOptions): AsyncGenerator<EventView> {
  const { gateway, query, asked, signal } = since
  let { last } = since
  try {
    // While these are shown more may happen than a feed begins with; a gateway lets go of a reader who is too slow.
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
  /** At most so many stand before these and are too many to be held. */
  readonly skipped: number
}

/** The API gives the newest of what is asked for, so the pages are asked for backwards. */
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
    // More than a page in one millisecond: time leads no further back.
    if (fresh.length === 0) break
  }
  return { events, skipped: (events[0]?.seq ?? 0) - last.seq - 1 }
}
