import { createRoute, z } from '@hono/zod-openapi'
import type { LoggedEvent } from '@sallyport/core'
import { createEventMatcher } from '../../store/store.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { eventSchema, filterFields, limitField, toEventFilter } from './event-query.ts'
import { strictInput } from './invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const DEFAULT_LIMIT = 200
const MAX_LIMIT = 10_000
/** What stood before is read at once and stays in memory until it was sent. */
const MAX_EARLIER = 1_000
const STREAM_HEADERS = { 'content-type': 'text/event-stream' }

const listEvents = createRoute({
  method: 'get',
  path: '/events',
  summary: 'What happened: the newest events that match, oldest first',
  request: { query: strictInput({ ...filterFields, limit: limitField(MAX_LIMIT).optional() }) },
  responses: { 200: jsonResponse(z.object({ events: z.array(eventSchema) }), 'The events.'), ...PROBLEM_RESPONSES },
})

const followEvents = createRoute({
  method: 'get',
  path: '/events/follow',
  summary: 'What happens, as server-sent events; `limit` asks for so many that were before',
  request: { query: strictInput({ ...filterFields, limit: limitField(MAX_EARLIER).optional() }) },
  responses: {
    200: { description: 'One event of the log in each.', content: { 'text/event-stream': { schema: z.string() } } },
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

/** Who reads so slowly that this much waits for him is let go: the log holds what he missed. */
const MAX_BACKLOG_BYTES = 4_000_000
/** And so much may happen while the earlier events are looked for. */
const MAX_BUFFERED = 10_000
const KEEP_ALIVE_INTERVAL_MS = 25_000

interface EventFeedOptions {
  readonly watch: (listener: (event: LoggedEvent) => void) => () => void
  readonly matches: (event: LoggedEvent) => boolean
  /** What happened before, oldest first. */
  readonly earlier: () => Promise<readonly LoggedEvent[]>
}

const encoder = new TextEncoder()

/** Events as server-sent events: some that were, then each as it happens, none twice and none left out. */
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
  /** What happens while the earlier ones are still looked for. */
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
    this.send('event: overrun\ndata: {"reason":"Too much was waiting to be read. Connect again."}\n\n')
    this.stop()
    this.#controller.close()
  }
}

/** JSON holds no line breaks, so that one `data` line always suffices. */
const formatEvent = (event: LoggedEvent): string => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`
