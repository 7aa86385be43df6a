import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import type { EventQuery, EventView, GatewayClient } from './gateway-client.ts'
import { reachRunning } from './reach-gateway.ts'

export interface FollowOptions {
  readonly state: string
  readonly query: EventQuery
  /** The newest that were shown already, if any. */
  readonly after: EventView | undefined
  readonly onEvent: (event: EventView) => void
  /** There is no gateway to follow; called once for each time that there is none. */
  readonly onWaiting: () => void
  readonly signal: AbortSignal
}

const PAUSE_MS = 500
/** What is asked for again after a gap; the same that the API allows. */
const CATCH_UP = 1_000

/** Follows the events of a state for ever: over the gateway that runs on it, and over the next one when that ends. */
export async function followEvents({
  state,
  query,
  onEvent,
  onWaiting,
  signal,
  ...options
}: FollowOptions): Promise<never> {
  let last = options.after
  let waiting = false
  for (;;) {
    const gateway = await reachRunning(state)
    if (!gateway && !waiting) onWaiting()
    waiting = gateway === undefined
    if (gateway) {
      for await (const event of eventsSince({ gateway, query, last, signal })) {
        last = event
        onEvent(event)
      }
    }
    await delay(PAUSE_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

interface Since {
  readonly gateway: GatewayClient
  readonly query: EventQuery
  readonly last: EventView | undefined
  readonly signal: AbortSignal
}

/** The seam is closed by the log's own numbers: what stands twice, before and after it, is shown once. */
async function* eventsSince({ gateway, query, last, signal }: Since): AsyncGenerator<EventView> {
  const gap = last === undefined ? {} : { since: last.time, limit: CATCH_UP }
  try {
    for await (const event of gateway.follow({ ...query, ...gap }, signal))
      if (last === undefined || event.seq > last.seq) yield event
  } catch (error) {
    if (!(error instanceof SallyportError) || error.code !== 'GATEWAY_UNREACHABLE') throw error
  }
}
