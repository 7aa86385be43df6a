import { createRoute, z } from '@hono/zod-openapi'
import { PROBLEM_KINDS } from '../../pipeline/pipeline.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { waitForServers } from './find-tool.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const toolsFileSchema = z
  .object({
    path: z.string(),
    entries: z.number().int().openapi({ description: 'Number of entries in force.' }),
    problems: z.array(
      z.object({
        kind: z.enum(PROBLEM_KINDS),
        level: z.enum(['wrong', 'warning']),
        tool: z.string().optional(),
        problem: z.string(),
        fix: z.string(),
      }),
    ),
  })
  .openapi('ToolsFile')

export type ToolsFileView = z.infer<typeof toolsFileSchema>

const getToolsFile = createRoute({
  method: 'get',
  path: '/tools-file',
  summary: 'tools.yaml, and the problems of it and of the tools that a person should check',
  responses: { 200: jsonResponse(toolsFileSchema, 'The file that is in force.'), ...PROBLEM_RESPONSES },
})

export const toolsFileRoutes = (context: AdminContext) =>
  createRoutes().openapi(getToolsFile, async (c) => {
    await waitForServers(context)
    const { path, entries } = context.review
    return c.json({ path, entries, problems: [...context.review.problems()] }, 200)
  })
