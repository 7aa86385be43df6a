import { createRoute, z } from '@hono/zod-openapi'
import { type Principal, RISK_LEVELS } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import type { AdminContext } from '../admin-context.ts'
import { findTool, untilKnown } from './find-tool.ts'
import { inputOf } from './invalid-input.ts'
import { createRoutes, jsonOf, operatorOf, PROBLEMS, viaField } from './routes.ts'
import { type ToolSight, type ToolView, toolDetail, toolDetailSchema, toolSchema, toolView } from './tool-view.ts'

const listQuery = inputOf({
  server: z.string().optional(),
  match: z.string().max(500).optional().openapi({ description: 'A name in any form, or a glob over names.' }),
  risk: z.enum(RISK_LEVELS).optional(),
  pin: z.enum(['changed']).optional().openapi({ description: 'Only those that are not what was reviewed.' }),
})

const named = inputOf({ name: z.string().max(500) })

const listTools = createRoute({
  method: 'get',
  path: '/tools',
  summary: 'The tools of all servers, offered or not',
  request: { query: listQuery },
  responses: { 200: jsonOf(z.object({ tools: z.array(toolSchema) }), 'Those that match.'), ...PROBLEMS },
})

const getTool = createRoute({
  method: 'get',
  path: '/tools/{name}',
  summary: 'One tool, by its canonical, wire or unique bare name, or as server%2Ftool',
  request: { params: named },
  responses: {
    200: jsonOf(toolDetailSchema, 'Its definition, its rules, and what was decided about it.'),
    ...PROBLEMS,
  },
})

const acceptBody = inputOf({
  pin: z.string().max(200).openapi({ description: '`review.now` of what was shown to whoever accepts it.' }),
  via: viaField,
})

const acceptTool = createRoute({
  method: 'post',
  path: '/tools/{name}/accept',
  summary: 'Accept the definition that a tool has now',
  request: { params: named, body: { required: true, content: { 'application/json': { schema: acceptBody } } } },
  responses: { 200: jsonOf(toolDetailSchema, 'The tool as it stands then.'), ...PROBLEMS },
})

export const toolRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listTools, async (c) => {
      await untilKnown(context)
      return c.json({ tools: toolsFor(operatorOf(c.env), context, c.req.valid('query')) }, 200)
    })
    .openapi(getTool, async (c) => {
      const offer = await findTool(context, c.req.valid('param').name)
      return c.json(toolDetail(sightOf(context, offer, operatorOf(c.env)), context.review), 200)
    })
    .openapi(acceptTool, async (c) => {
      const offer = await findTool(context, c.req.valid('param').name)
      const { pin: shown, via } = c.req.valid('json')
      const operator = operatorOf(c.env)
      await context.review.accept(offer, { shown, via, by: operator.user })
      return c.json(toolDetail(sightOf(context, offer, operator), context.review), 200)
    })

const sightOf = ({ listings, review }: AdminContext, offer: Offer, principal: Principal): ToolSight => ({
  offer,
  decision: listings.decisionFor(offer, principal),
  review: review.of(offer),
})

function toolsFor(principal: Principal, context: AdminContext, query: z.infer<typeof listQuery>): ToolView[] {
  const { tools, toolNames } = context.catalog.snapshot
  const wires = query.match && new Set(toolNames.find(query.match).map((ref) => toolNames.wireName(ref)))
  return tools
    .filter((offer) => (!query.server || offer.server === query.server) && (!wires || wires.has(offer.wire)))
    .map((offer) => toolView(sightOf(context, offer, principal)))
    .filter(({ risk, pin }) => (!query.risk || risk === query.risk) && (!query.pin || pin === query.pin))
}
