import { createRoute, z } from '@hono/zod-openapi'
import type { LoggedEvent } from '@sallyport/core'
import { createEventMatcher } from '../../store/store.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { eventSchema, filterFields, limitField, toEventFilter } from './event-query.ts'
import { strictInput } from './invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const DEFAULT_LIMIT = 200
const MAX_LIMIT = 10_000
/** Earlier events are read all at once and stay in memory until they are sent. */
const MAX_EARLIER = 1_000
const STREAM_HEADERS = { 'content-type': 'text/event-stream' }

const listEvents = createRoute({
  method: 'get',
  path: '/events',
  summary: 'The newest events that match, oldest first',
  request: { query: strictInput({ ...filterFields, limit: limitField(MAX_LIMIT).optional() }) },
  responses: { 200: jsonResponse(z.object({ events: z.array(eventSchema) }), 'The events.'), ...PROBLEM_RESPONSES },
})

const followEvents = createRoute({
  method: 'get',
  path: '/events/follow',
  summary: 'New events as server-sent events; `limit` is the number of earlier events to send first',
  request: { query: strictInput({ ...filterFields, limit: limitField(MAX_EARLIER).optional() }) },
  responses: {
    200: {
      description: 'Each server-sent event is one event of the log.',
      content: { 'text/event-stream': { schema: z.string() } },
    },
    ...PROBLEM_RESPONSES,
  },
})

export const eventRoutes = ({ store }: AdminContext) =>
  createRoutes()
    .openapi(listEvents, async (c) => {
      const { limit = DEFAULT_LIMIT, ...query } = c.req.valid('query')
      const events = (await store.find({ ...toEventFilter(query), limit })) as EventView[]
      return c.json({ events }, 200)
    })
    .openapi(followEvents, (c) => {
      const { limit = 0, ...query } = c.req.valid('query')
      const filter = toEventFilter(query)
      // The router answers HEAD from here and drops the body: nobody would ever cancel the feed.
      if (c.req.method === 'HEAD') return c.body('', 200, STREAM_HEADERS)
      const feed = createEventFeed({
        watch: (listener) => store.log.watch(listener),
        matches: createEventMatcher(filter),
        earlier: async () => (limit > 0 ? store.find({ ...filter, limit }) : []),
      })
      return c.body(feed, 200, STREAM_HEADERS)
    })

export type EventView = LoggedEvent & z.infer<typeof eventSchema>

/** A reader with a larger backlog is disconnected: it can get what it missed from the log. */
const MAX_BACKLOG_BYTES = 4_000_000
/** New events that are held while the earlier ones are being read. */
const MAX_BUFFERED = 10_000
const KEEP_ALIVE_INTERVAL_MS = 25_000

interface EventFeedOptions {
  readonly watch: (listener: (event: LoggedEvent) => void) => () => void
  readonly matches: (event: LoggedEvent) => boolean
  /** Earlier events, oldest first. */
  readonly earlier: () => Promise<readonly LoggedEvent[]>
}

const encoder = new TextEncoder()

/** Server-sent events: first the earlier ones, then each new one, without a gap or a duplicate. */
export function createEventFeed({ watch, matches, earlier }: EventFeedOptions): ReadableStream<Uint8Array> {
  let stop = (): void => {}
  return new ReadableStream<Uint8Array>(
    {
      start: async (controller) => {
        const feed = new Feed(controller, () => {
          unwatch()
          clearInterval(timer)
        })
        const unwatch = watch((event) => matches(event) && feed.push(event))
        const timer = setInterval(() => feed.send(': still here\n\n'), KEEP_ALIVE_INTERVAL_MS)
        timer.unref()
        stop = () => feed.stop()
        feed.send(': following\n\n')
        feed.sendEarlier(await earlier())
      },
      cancel: () => stop(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_BACKLOG_BYTES }),
  )
}

class Feed {
  /** New events, while the earlier ones are being read; `undefined` afterwards. */
  #buffered: LoggedEvent[] | undefined = []
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  readonly #onStop: () => void
  #ended = false

  constructor(controller: ReadableStreamDefaultController<Uint8Array>, onStop: () => void) {
    this.#controller = controller
    this.#onStop = onStop
  }

  stop(): void {
    this.#ended = true
    this.#onStop()
  }

  send(text: string): void {
    if (!this.#ended) this.#controller.enqueue(encoder.encode(text))
  }

  sendEarlier(earlier: readonly LoggedEvent[]): void {
    for (const event of earlier) this.send(formatEvent(event))
    const last = earlier.at(-1)?.seq ?? 0
    const held = this.#buffered ?? []
    this.#buffered = undefined
    for (const event of held) if (event.seq > last) this.push(event)
  }

  push(event: LoggedEvent): void {
    if (this.#buffered && this.#buffered.length < MAX_BUFFERED) {
      this.#buffered.push(event)
      return
    }
    if (!this.#buffered) this.send(formatEvent(event))
    if (!this.#buffered && (this.#controller.desiredSize ?? 0) > 0) return
    this.#overrun()
  }

  #overrun(): void {
    if (this.#ended) return
    this.send('event: overrun\ndata: {"reason":"Too many events are unread. Connect again."}\n\n')
    this.stop()
    this.#controller.close()
  }
}

/** Printed JSON has no line breaks, so one `data` line is always enough. */
const formatEvent = (event: LoggedEvent): string => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`
