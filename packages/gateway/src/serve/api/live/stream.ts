import { createRoute, z } from '@hono/zod-openapi'
import { SallyportError } from '@sallyport/core'
import type { AdminContext } from '../../admin/admin-context.ts'
import { strictInput } from '../invalid-input.ts'
import { createRoutes, PROBLEM_RESPONSES } from '../routes.ts'
import { LiveStream } from './live-stream.ts'

const STREAM_HEADERS = { 'content-type': 'text/event-stream' }

const recordNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'expected the number of a record')
  .transform(Number)
  .openapi({ type: 'integer', minimum: 0 })

const openStream = createRoute({
  method: 'get',
  path: '/stream',
  summary: 'Everything that a page shows live, as server-sent events',
  description:
    '`records`: what was recorded since the last message; its id is the number of the last record. `state`: the mode and what needs a person. `servers`: all servers with their states. `reset`: records were missed; read again what is shown.',
  request: {
    query: strictInput({
      after: recordNumber
        .optional()
        .openapi({ description: 'Like the header `Last-Event-ID`, which takes precedence.' }),
    }),
    headers: z.object({ 'last-event-id': recordNumber.optional() }),
  },
  responses: {
    200: {
      description: 'The events of the stream. It ends with the login or the token.',
      content: { 'text/event-stream': { schema: z.string() } },
    },
    ...PROBLEM_RESPONSES,
  },
})

const MAX_READERS = 100

export const streamRoutes = (context: AdminContext) => {
  const stream = new LiveStream(context)
  return createRoutes().openapi(openStream, (c) => {
    // The router answers HEAD from here and drops the body: nobody would ever cancel the stream.
    if (c.req.method === 'HEAD') return c.body('', 200, STREAM_HEADERS)
    if (stream.size >= MAX_READERS)
      throw new SallyportError('OVERLOADED', `There are ${MAX_READERS} live streams already.`, {
        hint: 'Close pages that are not needed.',
      })
    const after = c.req.valid('header')['last-event-id'] ?? c.req.valid('query').after
    return c.body(stream.open(after), 200, STREAM_HEADERS)
  })
}
