import { createRoute, z } from '@hono/zod-openapi'
import type { AdminContext } from '../../admin/admin-context.ts'
import { strictInput } from '../invalid-input.ts'
import { looseObject } from '../loose-object.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from '../routes.ts'

const entrySchema = z
  .object({
    id: z.string(),
    path: z.string(),
    line: z.number().int(),
    entry: looseObject.openapi({ description: 'As it is written, with secrets masked.' }),
    version: z.string().openapi({ description: 'Changes when the entry changes.' }),
  })
  .openapi('ServerEntry')

export type ServerEntryView = z.infer<typeof entrySchema>

const getEntry = createRoute({
  method: 'get',
  path: '/servers/{id}/entry',
  summary: 'The entry of a server in config.yaml, to be edited',
  request: { params: strictInput({ id: z.string() }) },
  responses: { 200: jsonResponse(entrySchema, 'As it is now.'), ...PROBLEM_RESPONSES },
})

export const serverEntryRoutes = ({ servers }: AdminContext) =>
  createRoutes().openapi(getEntry, async (c) => {
    const { id } = c.req.valid('param')
    const { path, line, entry, version } = await servers.readEntry(id)
    const view: ServerEntryView = { id, path, line, entry: { ...entry }, version }
    return c.json(view, 200)
  })
