import { createRoute, z } from '@hono/zod-openapi'
import { Cancellation, canonicalName, type JsonObject } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { isPrintableName } from '../../sessions/sessions.ts'
import type { AdminContext } from '../admin-context.ts'
import { decisionSchema, decisionView } from './decision-view.ts'
import { strictInput } from './invalid-input.ts'
import { looseObject } from './loose-object.ts'
import { createRoutes, jsonResponse, requireOperator } from './routes.ts'

const claimSchema = z.string().min(1).max(256).refine(isPrintableName, 'expected printable text')

const verdictBody = strictInput({
  agent: claimSchema.openapi({
    description: 'Whose tool it is, such as claude-code: what tools.yaml calls its server.',
  }),
  tool: claimSchema.openapi({ description: 'The agent’s own name for it, such as Bash.' }),
  arguments: looseObject.optional(),
})

const postVerdict = createRoute({
  method: 'post',
  path: '/verdict',
  summary: 'Decide about a tool that an agent has built in and calls itself',
  description: 'By the entries of tools.yaml for `<agent>/<tool>` and by the mode. A refusal is recorded.',
  request: { body: { required: true, content: { 'application/json': { schema: verdictBody } } } },
  responses: { 200: jsonResponse(decisionSchema, 'What the agent should do with the call.') },
})

export const verdictRoutes = (context: AdminContext) =>
  createRoutes().openapi(postVerdict, async (c) => {
    const { agent, tool, arguments: args } = c.req.valid('json')
    const decision = await context.pipeline.decideAndRecord({
      id: context.ids.callId(),
      traceId: context.ids.traceId(),
      principal: { ...requireOperator(c.env), agent, profile: 'default', role: 'agent' },
      method: 'tools/call',
      offer: builtInOffer(agent, tool),
      params: { name: tool, arguments: (args ?? {}) as JsonObject },
      cancellation: new Cancellation(),
    })
    return c.json(decisionView(decision), 200)
  })

/** No server defined it: of its arguments nothing is known but what entries say. */
function builtInOffer(agent: string, tool: string): Offer {
  const definition = { name: tool, inputSchema: { type: 'object' } }
  const recordName = canonicalName({ server: agent, tool })
  return {
    kind: 'tool',
    server: agent,
    name: tool,
    wire: tool,
    recordName,
    original: definition,
    definition,
    isMcp: false,
  }
}
