import { createRoute, z } from '@hono/zod-openapi'
import { agentSlug } from '../../config/config.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { strictInput } from './invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const usesSchema = z
  .object({
    uses: z
      .array(z.object({ tool: z.string().openapi({ description: 'Its canonical name.' }), time: z.iso.datetime() }))
      .optional()
      .openapi({ description: 'Missing if the index of the records cannot be used.' }),
  })
  .openapi('ToolUses')

const listUses = createRoute({
  method: 'get',
  path: '/agents/{agent}/uses',
  summary: 'When an agent, in any of its profiles, last called each tool, according to the retained records',
  request: { params: strictInput({ agent: z.string().max(100) }) },
  responses: { 200: jsonResponse(usesSchema, 'Tools that it has called.'), ...PROBLEM_RESPONSES },
})

export const useRoutes = ({ store }: AdminContext) =>
  createRoutes().openapi(listUses, async (c) => {
    const uses = await store.lastUses(agentSlug(c.req.valid('param').agent))
    const rows = uses && [...uses].map(([tool, time]) => ({ tool, time: new Date(time).toISOString() }))
    return c.json({ ...(rows && { uses: rows }) }, 200)
  })
