import { createRoute, z } from '@hono/zod-openapi'
import { Cancellation, canonicalName, type JsonObject } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { isClaimText } from '../../sessions/sessions.ts'
import type { AdminContext } from '../admin-context.ts'
import { decisionSchema, decisionView } from './decision-view.ts'
import { inputOf } from './invalid-input.ts'
import { looseObject } from './loose-object.ts'
import { createRoutes, jsonOf, operatorOf } from './routes.ts'

const claim = z.string().min(1).max(256).refine(isClaimText, 'expected printable text')

const verdictBody = inputOf({
  agent: claim.openapi({ description: 'Whose tool it is, such as claude-code: what tools.yaml calls its server.' }),
  tool: claim.openapi({ description: 'The agent’s own name for it, such as Bash.' }),
  arguments: looseObject.optional(),
})

const postVerdict = createRoute({
  method: 'post',
  path: '/verdict',
  summary: 'Decide about a tool that an agent has built in and calls itself',
  description: 'By the entries of tools.yaml for `<agent>/<tool>` and by the mode. A refusal is recorded.',
  request: { body: { required: true, content: { 'application/json': { schema: verdictBody } } } },
  responses: { 200: jsonOf(decisionSchema, 'What the agent should do with the call.') },
})

export const verdictRoutes = (context: AdminContext) =>
  createRoutes().openapi(postVerdict, async (c) => {
    const { agent, tool, arguments: args } = c.req.valid('json')
    const decision = await context.pipeline.verdict({
      id: context.ids.callId(),
      traceId: context.ids.traceId(),
      principal: { ...operatorOf(c.env), agent, profile: 'default', role: 'agent' },
      method: 'tools/call',
      offer: builtInOf(agent, tool),
      params: { name: tool, arguments: (args ?? {}) as JsonObject },
      cancellation: new Cancellation(),
    })
    return c.json(decisionView(decision), 200)
  })

/** No server defined it: of its arguments nothing is known but what entries say. */
function builtInOf(agent: string, tool: string): Offer {
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
