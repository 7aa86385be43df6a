import { createRoute, z } from '@hono/zod-openapi'
import { MODES } from '@sallyport/core'
import { type AdminContext, modeView } from '../admin/admin-context.ts'
import { strictInput } from './invalid-input.ts'
import { callerOf, createRoutes, jsonResponse, PROBLEM_RESPONSES, viaField } from './routes.ts'

export const modeSchema = z
  .object({
    mode: z.enum(MODES),
    since: z.iso.datetime(),
    by: z.string().openapi({ description: '`automatic` if no person set it.' }),
    via: z.string(),
    why: z.string().openapi({ description: 'Empty if no reason was given.' }),
    next: z.array(z.enum(MODES)).openapi({ description: 'The modes that a person can set next.' }),
    problem: z.string().optional().openapi({ description: 'Why a restart may not restore exactly this mode.' }),
  })
  .openapi('Mode')

const changedSchema = modeSchema
  .extend({ before: z.enum(MODES).openapi({ description: 'The mode before; the same if nothing changed.' }) })
  .openapi('ChangedMode')

export type ModeView = z.infer<typeof modeSchema>
export type ChangedMode = z.infer<typeof changedSchema>

const modeBody = strictInput({
  mode: z.enum(MODES),
  why: z.string().max(1_000).optional().openapi({ description: 'Required if the new mode is less strict.' }),
  via: viaField,
})

const getMode = createRoute({
  method: 'get',
  path: '/mode',
  summary: 'The mode in force',
  responses: { 200: jsonResponse(modeSchema, 'The mode, who set it and why.'), ...PROBLEM_RESPONSES },
})

const putMode = createRoute({
  method: 'put',
  path: '/mode',
  summary: 'Set the mode',
  request: { body: { required: true, content: { 'application/json': { schema: modeBody } } } },
  responses: { 200: jsonResponse(changedSchema, 'It is in force.'), ...PROBLEM_RESPONSES },
})

export const modeRoutes = ({ mode: state }: AdminContext) =>
  createRoutes()
    .openapi(getMode, (c) => c.json(modeView(state), 200))
    .openapi(putMode, async (c) => {
      const { mode: to, why, via } = c.req.valid('json')
      const before = await state.change({ to, why, via, by: callerOf(c.env).user })
      return c.json({ ...modeView(state), before }, 200)
    })
