import { createRoute, z } from '@hono/zod-openapi'
import { type Principal, RISK_LEVELS } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import type { AdminContext } from '../admin-context.ts'
import { findTool, waitForServers } from './find-tool.ts'
import { strictInput } from './invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES, requireOperator, viaField } from './routes.ts'
import { type InspectedTool, type ToolView, toolDetail, toolDetailSchema, toolSchema, toolView } from './tool-view.ts'

const listQuery = strictInput({
  server: z.string().optional(),
  match: z.string().max(500).optional().openapi({ description: 'A name in any form, or a glob over names.' }),
  risk: z.enum(RISK_LEVELS).optional(),
  pin: z.enum(['changed']).optional().openapi({ description: 'Only those that are not what was reviewed.' }),
})

const nameParam = strictInput({ name: z.string().max(500) })

const listTools = createRoute({
  method: 'get',
  path: '/tools',
  summary: 'The tools of all servers, offered or not',
  request: { query: listQuery },
  responses: { 200: jsonResponse(z.object({ tools: z.array(toolSchema) }), 'Those that match.'), ...PROBLEM_RESPONSES },
})

const getTool = createRoute({
  method: 'get',
  path: '/tools/{name}',
  summary: 'One tool, by its canonical, wire or unique bare name, or as server%2Ftool',
  request: { params: nameParam },
  responses: {
    200: jsonResponse(toolDetailSchema, 'Its definition, its rules, and what was decided about it.'),
    ...PROBLEM_RESPONSES,
  },
})

const acceptBody = strictInput({
  pin: z.string().max(200).openapi({ description: '`review.now` of what was shown to whoever accepts it.' }),
  via: viaField,
})

const acceptTool = createRoute({
  method: 'post',
  path: '/tools/{name}/accept',
  summary: 'Accept the definition that a tool has now',
  request: { params: nameParam, body: { required: true, content: { 'application/json': { schema: acceptBody } } } },
  responses: { 200: jsonResponse(toolDetailSchema, 'The tool as it stands then.'), ...PROBLEM_RESPONSES },
})

export const toolRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listTools, async (c) => {
      await waitForServers(context)
      return c.json({ tools: listMatchingTools(requireOperator(c.env), context, c.req.valid('query')) }, 200)
    })
    .openapi(getTool, async (c) => {
      const offer = await findTool(context, c.req.valid('param').name)
      return c.json(toolDetail(inspectTool(context, offer, requireOperator(c.env)), context.review), 200)
    })
    .openapi(acceptTool, async (c) => {
      const offer = await findTool(context, c.req.valid('param').name)
      const { pin: shown, via } = c.req.valid('json')
      const operator = requireOperator(c.env)
      await context.review.accept(offer, { shown, via, by: operator.user })
      return c.json(toolDetail(inspectTool(context, offer, operator), context.review), 200)
    })

const inspectTool = ({ listings, review }: AdminContext, offer: Offer, principal: Principal): InspectedTool => ({
  offer,
  decision: listings.decisionFor(offer, principal),
  review: review.reviewOf(offer),
})

function listMatchingTools(principal: Principal, context: AdminContext, query: z.infer<typeof listQuery>): ToolView[] {
  const { tools, toolNames } = context.catalog.snapshot
  const wires = query.match && new Set(toolNames.find(query.match).map((ref) => toolNames.wireName(ref)))
  return tools
    .filter((offer) => (!query.server || offer.server === query.server) && (!wires || wires.has(offer.wire)))
    .map((offer) => toolView(inspectTool(context, offer, principal)))
    .filter(({ risk, pin }) => (!query.risk || risk === query.risk) && (!query.pin || pin === query.pin))
}
