import { createRoute, z } from '@hono/zod-openapi'
import { isPrivate, SENSITIVITIES } from '@sallyport/core'
import type { AdminContext } from '../admin/admin-context.ts'
import type { SessionFacts } from '../admin/session-control.ts'
import { strictInput } from './invalid-input.ts'
import { callerOf, createRoutes, jsonResponse, PROBLEM_RESPONSES, viaField } from './routes.ts'

const sensitivity = z.enum(SENSITIVITIES)

const sessionSchema = z
  .object({
    user: z.string(),
    session: z.string(),
    agent: z.string(),
    profile: z.string(),
    sensitivity,
    private: z.boolean().openapi({ description: 'Calls that reach out are refused.' }),
    untrusted: z.boolean().openapi({ description: 'It has read text of a server that is not trusted.' }),
    datasets: z
      .array(z.object({ name: z.string(), sensitivity }))
      .openapi({ description: 'What it has seen; empty if it has not called since the start.' }),
    since: z.iso.datetime().optional().openapi({ description: 'Its first call since the start.' }),
    raised: z.iso.datetime().optional().openapi({ description: 'When its label last rose.' }),
    ended: z.boolean().openapi({ description: 'It was ended: no new connection is in it.' }),
    problem: z.string().optional().openapi({ description: 'Why its label counts as SECRET.' }),
  })
  .openapi('Session')

export type SessionView = z.infer<typeof sessionSchema>

const endedSchema = z.object({
  ended: sessionSchema,
  next: z.string(),
  removed: z
    .object({ files: z.number(), bytes: z.number(), key: z.boolean() })
    .optional()
    .openapi({ description: 'What was removed with `purge`. `key`: it had a key, which is destroyed.' }),
  servers: z
    .array(
      z.object({
        server: z.string(),
        outcome: z.enum(['removed', 'unsupported', 'failed']).openapi({
          description: '`unsupported`: it cannot be asked to. `failed`: it is asked again until it answers.',
        }),
        files: z.number(),
        bytes: z.number(),
        reason: z.string().optional(),
      }),
    )
    .optional()
    .openapi({ description: 'What servers with `identity: forward` removed. Missing if no gateway runs.' }),
  kept_until: z.iso.datetime().optional().openapi({ description: 'When its stored data will be removed.' }),
})

export type EndedSessionView = z.infer<typeof endedSchema>

const nameFields = {
  session: z.string().min(1).max(600),
  user: z.string().max(300).optional().openapi({ description: 'Needed if several users have a session of that name.' }),
  via: viaField,
}

const listRoute = createRoute({
  method: 'get',
  path: '/sessions',
  summary: 'The sessions that have called since the start or have a label',
  responses: {
    200: jsonResponse(z.object({ sessions: z.array(sessionSchema) }), 'Sorted by name.'),
    ...PROBLEM_RESPONSES,
  },
})

const raiseRoute = createRoute({
  method: 'post',
  path: '/sessions/raise',
  summary: 'Raise the label of a session; nothing lowers it',
  request: {
    body: {
      required: true,
      content: {
        'application/json': {
          schema: strictInput({ ...nameFields, sensitivity, why: z.string().max(300).optional() }),
        },
      },
    },
  },
  responses: { 200: jsonResponse(sessionSchema, 'The session with its label.'), ...PROBLEM_RESPONSES },
})

const endRoute = createRoute({
  method: 'post',
  path: '/sessions/end',
  summary: 'End a session: the next one of the same credential starts PUBLIC',
  request: {
    body: {
      required: true,
      content: {
        'application/json': {
          schema: strictInput({
            ...nameFields,
            purge: z.boolean().default(false).openapi({
              description: 'Destroy its key, and remove its workspace and stored results, at once.',
            }),
          }),
        },
      },
    },
  },
  responses: {
    200: jsonResponse(endedSchema, 'The session that ended, and the next one.'),
    ...PROBLEM_RESPONSES,
  },
})

export const sessionRoutes = ({ control, settings }: AdminContext) => {
  const view = (facts: SessionFacts): SessionView => toView(facts, settings.labels.privateFrom)
  return createRoutes()
    .openapi(listRoute, (c) => c.json({ sessions: control.list().map(view) }, 200))
    .openapi(raiseRoute, async (c) => {
      const { sensitivity: level, why, via, ...name } = c.req.valid('json')
      const by = callerOf(c.env).user
      return c.json(view(await control.raise(name, level, { by, via, why })), 200)
    })
    .openapi(endRoute, async (c) => {
      const { purge, via, ...name } = c.req.valid('json')
      const by = callerOf(c.env).user
      const { ended, next, removed, servers, keptUntil } = await control.end(name, { by, via, isPurged: purge })
      const until = keptUntil && { kept_until: keptUntil.toISOString() }
      return c.json(
        { ended: view(ended), next, ...(removed && { removed }), ...(servers && { servers: [...servers] }), ...until },
        200,
      )
    })
}

const toView = (
  { since, raised, problem, datasets, ...facts }: SessionFacts,
  privateFrom: SessionFacts['sensitivity'],
): SessionView => ({
  ...facts,
  private: isPrivate(facts.sensitivity, privateFrom),
  datasets: [...datasets],
  ...(since && { since: since.toISOString() }),
  ...(raised && { raised: raised.toISOString() }),
  ...(problem !== undefined && { problem }),
})
