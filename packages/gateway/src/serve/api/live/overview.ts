import { createRoute, z } from '@hono/zod-openapi'
import { ADMIN_ROLES, type EventType, type LoggedEvent } from '@sallyport/core'
import type { ToolReview } from '../../../pipeline/pipeline.ts'
import type { Upstream } from '../../../upstream/upstream.ts'
import { type AdminContext, modeView } from '../../admin/admin-context.ts'
import { eventSchema } from '../event-query.ts'
import type { EventView } from '../events.ts'
import { waitForServers } from '../find-tool.ts'
import { strictInput } from '../invalid-input.ts'
import { modeSchema } from '../mode.ts'
import { callerOf, createRoutes, jsonResponse, PROBLEM_RESPONSES } from '../routes.ts'
import { stateFields } from '../servers.ts'
import { dayCountsSchema, sumCounts } from './day-counts.ts'

const attentionSchema = z
  .object({
    approvals: z.number().int().openapi({ description: 'Calls that wait for a person.' }),
    drifted: z.number().int().openapi({ description: 'Offers that differ from what was reviewed.' }),
    findings: z.number().int().openapi({ description: 'Offers with findings that nobody has accepted.' }),
    logins: z.number().int().openapi({ description: 'Servers that need a person to log in.' }),
    deadServers: z.number().int().openapi({ description: 'Servers that do not work: broken, or waiting to restart.' }),
  })
  .openapi('Attention', { description: 'What needs a person.' })

const liveServerSchema = z
  .object({
    id: z.string(),
    state: stateFields.state,
    since: stateFields.since,
    reason: stateFields.reason,
    retryAt: stateFields.retryAt,
    restarts: stateFields.restarts,
    isHealthy: z.boolean().optional().openapi({ description: 'Missing if it has no health checks.' }),
  })
  .openapi('LiveServer')

const liveStateSchema = z
  .object({
    mode: modeSchema,
    attention: attentionSchema,
    callsInFlight: z.number().int(),
  })
  .openapi('LiveState')

const overviewSchema = liveStateSchema
  .extend({
    servers: z.array(liveServerSchema),
    since: z.iso.datetime().openapi({ description: 'Since when the records are counted.' }),
    day: dayCountsSchema
      .extend({
        answers: z
          .object({ approved: z.number().int(), denied: z.number().int(), expired: z.number().int() })
          .openapi({ description: 'What became of calls that a person was asked about; of the newest 1,000 answers.' }),
      })
      .optional()
      .openapi({ description: 'Of at most two million records; missing if the index of the records cannot be used.' }),
    changes: z.array(eventSchema).openapi({ description: 'The newest changes since then, oldest first.' }),
  })
  .openapi('Overview')

const meSchema = z
  .object({
    user: z.string(),
    role: z.enum(ADMIN_ROLES).openapi({ description: 'What the caller may do; each route needs one of these.' }),
  })
  .openapi('Me')

export type LiveServer = z.infer<typeof liveServerSchema>
export type LiveState = z.infer<typeof liveStateSchema>
export type Overview = z.infer<typeof overviewSchema>
export type Me = z.infer<typeof meSchema>

const getMe = createRoute({
  method: 'get',
  path: '/me',
  summary: 'Who the caller is, and its role',
  responses: { 200: jsonResponse(meSchema, 'The caller.'), ...PROBLEM_RESPONSES },
})

const getOverview = createRoute({
  method: 'get',
  path: '/overview',
  summary: 'The mode, what needs a person, and what happened lately',
  request: {
    query: strictInput({
      since: z.iso.datetime({ offset: true }).optional().openapi({ description: 'One day ago if missing.' }),
    }),
  },
  responses: { 200: jsonResponse(overviewSchema, 'The current state.'), ...PROBLEM_RESPONSES },
})

export const overviewRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(getMe, (c) => {
      const { user, role } = callerOf(c.env)
      return c.json({ user, role: role as Me['role'] }, 200)
    })
    .openapi(getOverview, async (c) => {
      await waitForServers(context)
      const { since } = c.req.valid('query')
      return c.json(await buildOverview(context, since ? new Date(since) : new Date(Date.now() - DAY_MS)), 200)
    })

const DAY_MS = 86_400_000
const MAX_CHANGES = 50
const CHANGE_TYPES: readonly EventType[] = [
  'CONFIG_RELOADED',
  'CONFIG_REJECTED',
  'MODE_CHANGED',
  'PROFILES_CHANGED',
  'TOOLS_DISCOVERED',
  'TOOLS_FILE_RELOADED',
  'TOOLS_FILE_REJECTED',
  'PIN_CHANGED',
  'FINDINGS_ACCEPTED',
  'DEFINITION_DRIFTED',
  'DEFINITION_SUSPICIOUS',
  'TOKEN_MINTED',
  'TOKEN_REVOKED',
]

async function buildOverview(context: AdminContext, since: Date): Promise<Overview> {
  const { store } = context
  const [counted, answers] = await Promise.all([store.count(since), countAnswers(context, since)])
  const changes = (await store.find({ since, types: CHANGE_TYPES, limit: MAX_CHANGES })) as EventView[]
  return {
    ...liveState(context, countReviews(context)),
    servers: liveServers(context),
    since: since.toISOString(),
    ...(counted && { day: { ...sumCounts(counted), answers } }),
    changes,
  }
}

const ANSWER_TYPES = ['APPROVAL_ANSWERED', 'APPROVAL_EXPIRED'] as const
const MAX_ANSWERS = 1_000

type AnswerEvent = Extract<LoggedEvent, { type: (typeof ANSWER_TYPES)[number] }>

async function countAnswers({ store }: AdminContext, since: Date): Promise<NonNullable<Overview['day']>['answers']> {
  const found = (await store.find({ since, types: ANSWER_TYPES, limit: MAX_ANSWERS })) as readonly AnswerEvent[]
  const expired = found.filter(({ type }) => type === 'APPROVAL_EXPIRED').length
  const denied = found.filter((event) => event.type === 'APPROVAL_ANSWERED' && event.answer === 'deny').length
  return { approved: found.length - expired - denied, denied, expired }
}

export type ReviewCounts = Pick<LiveState['attention'], 'drifted' | 'findings'>

/** Goes through all offers: with thousands of tools, call it only when one of them may have changed. */
export function countReviews({ catalog, review }: Pick<AdminContext, 'catalog' | 'review'>): ReviewCounts {
  const offers = [...catalog.snapshot.allTools.filter(({ isMcp }) => isMcp), ...review.otherOffers()]
  const reviews = offers.map((offer): ReturnType<ToolReview['reviewOf']> => review.reviewOf(offer))
  return {
    drifted: reviews.filter(({ pin }) => pin === 'changed').length,
    findings: reviews.filter(({ openFindings }) => openFindings.length > 0).length,
  }
}

export function liveState(context: AdminContext, reviews: ReviewCounts): LiveState {
  const { mode, approving, gauge, fleet } = context
  const states = fleet.all().map((upstream) => upstream.status().state)
  return {
    mode: modeView(mode),
    attention: {
      approvals: approving.approvals.pending.length,
      ...reviews,
      logins: states.filter((state) => state === 'needs-login').length,
      deadServers: states.filter((state) => state === 'broken' || state === 'restarting').length,
    },
    callsInFlight: gauge.inFlight,
  }
}

export const liveServers = ({ fleet }: Pick<AdminContext, 'fleet'>): LiveServer[] => fleet.all().map(liveServer)

function liveServer(upstream: Upstream): LiveServer {
  const { id, state, since, reason, retryAt, restarts, health } = upstream.status()
  return {
    ...{ id, state, since, restarts },
    ...(reason !== undefined && { reason }),
    ...(retryAt !== undefined && { retryAt }),
    ...(health && { isHealthy: health.isHealthy }),
  }
}
