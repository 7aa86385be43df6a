import { createRoute, z } from '@hono/zod-openapi'
import type { Principal } from '@sallyport/core'
import type { AdminContext } from '../admin-context.ts'
import { findTool, untilKnown } from './find-tool.ts'
import { inputOf } from './invalid-input.ts'
import { createRoutes, jsonOf, operatorOf, PROBLEMS } from './routes.ts'
import { type ToolView, toolDetail, toolDetailSchema, toolSchema, toolView } from './tool-view.ts'

const listQuery = inputOf({
  server: z.string().optional(),
  match: z.string().max(500).optional().openapi({ description: 'A name in any form, or a glob over names.' }),
})

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
  request: { params: inputOf({ name: z.string().max(500) }) },
  responses: { 200: jsonOf(toolDetailSchema, 'Its definition, and what was decided about it.'), ...PROBLEMS },
})

export const toolRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listTools, async (c) => {
      await untilKnown(context)
      return c.json({ tools: toolsFor(operatorOf(c.env), context, c.req.valid('query')) }, 200)
    })
    .openapi(getTool, async (c) => {
      const offer = await findTool(context, c.req.valid('param').name)
      return c.json(toolDetail(offer, context.listings.decisionFor(offer, operatorOf(c.env))), 200)
    })

function toolsFor(principal: Principal, context: AdminContext, query: z.infer<typeof listQuery>): ToolView[] {
  const { catalog, listings } = context
  const { tools, toolNames } = catalog.snapshot
  const wires = query.match && new Set(toolNames.find(query.match).map((ref) => toolNames.wireName(ref)))
  return tools
    .filter((offer) => (!query.server || offer.server === query.server) && (!wires || wires.has(offer.wire)))
    .map((offer) => toolView(offer, listings.decisionFor(offer, principal)))
}
