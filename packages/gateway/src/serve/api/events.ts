import { createRoute, z } from '@hono/zod-openapi'
import type { LoggedEvent } from '@sallyport/core'
import { createEventMatcher } from '../../store/store.ts'
import type { AdminContext } from '../admin-context.ts'
import { createEventFeed } from './event-feed.ts'
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
