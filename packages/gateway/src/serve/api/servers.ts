import { createRoute, z } from '@hono/zod-openapi'
import { didYouMean, SallyportError } from '@sallyport/core'
import type { Upstream } from '../../upstream/upstream.ts'
import type { AdminContext } from '../admin-context.ts'
import { strictInput } from './invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'
import { serverSchema, serverView } from './server-view.ts'

const listServers = createRoute({
  method: 'get',
  path: '/servers',
  summary: 'The servers behind the gateway',
  responses: {
    200: jsonResponse(z.object({ servers: z.array(serverSchema) }), 'All of them, the gateway’s own first.'),
    ...PROBLEM_RESPONSES,
  },
})

const getServer = createRoute({
  method: 'get',
  path: '/servers/{id}',
  summary: 'One server',
  request: { params: strictInput({ id: z.string() }) },
  responses: { 200: jsonResponse(serverSchema, 'The server as it is now.'), ...PROBLEM_RESPONSES },
})

export const serverRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listServers, async (c) => {
      await context.fleet.waitUntilConfigured()
      return c.json({ servers: context.fleet.all().map((upstream) => serverView(upstream, context.catalog)) }, 200)
    })
    .openapi(getServer, async (c) => {
      await context.fleet.waitUntilConfigured()
      return c.json(serverView(findServer(context, c.req.valid('param').id), context.catalog), 200)
    })

function findServer({ fleet }: AdminContext, id: string): Upstream {
  const upstream = fleet.get(id)
  if (upstream) return upstream
  const known = fleet.all().map(({ config }) => config.id)
  const shown = id.slice(0, 100)
  throw new SallyportError(
    'SERVER_UNKNOWN',
    `There is no server ${JSON.stringify(shown)}.${didYouMean(shown, known)}`,
    {
      hint: 'See `sallyport servers` for all of them.',
    },
  )
}
