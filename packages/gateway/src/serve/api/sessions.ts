import { createRoute, z } from '@hono/zod-openapi'
import {
  higherSensitivity,
  isPrivate,
  NETWORK_MODES,
  networkModeFor,
  type Principal,
  SENSITIVITIES,
  type Sensitivity,
} from '@sallyport/core'
import type { BlockedOffer } from '../../pipeline/pipeline.ts'
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

const networkMode = z.enum(NETWORK_MODES)

const blockedSchema = z.object({
  server: z.string(),
  count: z.number().int().openapi({ description: 'How many of its tools are blocked.' }),
  of: z.number().int().openapi({ description: 'How many tools it has for this session.' }),
  tools: z.array(z.string()).openapi({ description: 'The names of the first of them.' }),
  reason: z.string().openapi({ description: 'What a call of the first one is answered.' }),
  remedies: z.array(z.string()).openapi({ description: 'What can be done instead.' }),
})

const limitsSchema = z
  .object({
    sensitivity,
    private: z.boolean(),
    network: z
      .object({ PUBLIC: networkMode, INTERNAL: networkMode, CONFIDENTIAL: networkMode, SECRET: networkMode })
      .openapi({ description: 'What its programs in sandboxes can reach at each label.' }),
    blocked: z.array(blockedSchema).openapi({ description: 'By server, the one with most of them first.' }),
  })
  .openapi('SessionLimits')

export type SessionLimits = z.infer<typeof limitsSchema>

const limitsRoute = createRoute({
  method: 'get',
  path: '/sessions/limits',
  summary: 'Which tools the label of a session blocks, now or after it was raised, and what can be done instead',
  request: {
    query: strictInput({
      session: nameFields.session,
      user: nameFields.user,
      sensitivity: sensitivity.optional().openapi({ description: 'As if its label was raised to this.' }),
    }),
  },
  responses: { 200: jsonResponse(limitsSchema, 'What it cannot do.'), ...PROBLEM_RESPONSES },
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

export const sessionRoutes = (context: AdminContext) => {
  const { control } = context
  const view = (facts: SessionFacts): SessionView => toView(facts, context.settings.labels.privateFrom)
  return createRoutes()
    .openapi(listRoute, (c) => c.json({ sessions: control.list().map(view) }, 200))
    .openapi(limitsRoute, async (c) => {
      const { sensitivity: raised, ...name } = c.req.valid('query')
      return c.json(await findLimits(context, control.find(name), raised), 200)
    })
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

const MAX_NAMES = 100

async function findLimits(
  { pipeline, settings }: AdminContext,
  { user, session, agent, profile, sensitivity: current }: SessionFacts,
  raised: Sensitivity | undefined,
): Promise<SessionLimits> {
  const principal: Principal = { user, session, agent, profile, role: 'agent' }
  const { blocked, tools } = await pipeline.findBlocked(principal, raised)
  const { privateFrom } = settings.labels
  const level = higherSensitivity(current, raised ?? current)
  const servers = [...new Set(blocked.map(({ offer }) => offer.server))]
  const views = servers.map((server) =>
    toBlockedView(
      blocked.filter(({ offer }) => offer.server === server),
      tools.get(server) ?? 0,
    ),
  )
  return {
    sensitivity: level,
    private: isPrivate(level, privateFrom),
    network: {
      PUBLIC: networkModeFor('PUBLIC', privateFrom),
      INTERNAL: networkModeFor('INTERNAL', privateFrom),
      CONFIDENTIAL: networkModeFor('CONFIDENTIAL', privateFrom),
      SECRET: networkModeFor('SECRET', privateFrom),
    },
    blocked: views.sort((one, other) => other.count - one.count),
  }
}

function toBlockedView(blocked: readonly BlockedOffer[], of: number): SessionLimits['blocked'][number] {
  const [first] = blocked
  return {
    server: first?.offer.server ?? '',
    count: blocked.length,
    of,
    tools: blocked.slice(0, MAX_NAMES).map(({ offer }) => offer.name),
    reason: first?.verdict.reason ?? '',
    remedies: [...(first?.remedies ?? [])],
  }
}
