import { createRoute, z } from '@hono/zod-openapi'
import { didYouMean, PERMISSIONS, type Principal, quoteText, RISK_LEVELS, SallyportError } from '@sallyport/core'
import type { Context } from 'hono'
import { ADAPTERS } from '../../agents/agents.ts'
import type { Offer } from '../../catalog/catalog.ts'
import {
  agentSlug,
  DEFAULT_VARIANT,
  findEffectiveProfile,
  NO_PROFILE,
  type ProfileRef,
  type ProfileSettings,
  profileEtag,
  profileKey,
  requireProfile,
} from '../../config/config.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { toProblem } from '../problem.ts'
import { waitForServers } from './find-tool.ts'
import { strictInput } from './invalid-input.ts'
import { type ApiEnv, callerOf, createRoutes, jsonResponse, PROBLEM_RESPONSES, problemSchema } from './routes.ts'
import { countToolTokens, governedView } from './tools.ts'

const profileFields = {
  title: z.string().optional(),
  selectedMcpTools: z
    .array(z.string())
    .optional()
    .openapi({ description: 'Selectors. Missing: all tools; empty: no tool.' }),
  inheritsSelection: z.literal(true).optional().openapi({
    description: 'The selection comes from the agent’s entry and applies to all variants without their own.',
  }),
  tokenBudget: z.number().int().positive().optional(),
  session: z.string().optional(),
}

const profileSchema = z
  .object({
    name: z.string().openapi({ description: 'Such as `claude-code.reviewer`.' }),
    agent: z.string(),
    variant: z.string().openapi({ description: 'As written in the file.' }),
    ...profileFields,
    clientApproval: z.boolean().optional().openapi({
      description: 'Whether its client may approve calls. Missing: only if `run` started it in a terminal.',
    }),
    line: z.number().int().openapi({ description: 'Line of the selection, or else of the variant, in the file.' }),
    etag: z.string().openapi({ description: 'Changes when this profile changes; to be sent as `If-Match`.' }),
    tools: z.object({
      selected: z.number().int(),
      available: z.number().int(),
      unmatched: z.array(z.string()).openapi({ description: 'Selectors that match no known tool.' }),
    }),
  })
  .openapi('Profile')

type ProfileView = z.infer<typeof profileSchema>

const agentToolsSchema = z
  .object({
    agent: z.string(),
    variant: z.string(),
    supportsMcp: z.boolean().openapi({ description: 'If false, `servers` is empty.' }),
    selectors: z
      .array(z.string())
      .optional()
      .openapi({ description: 'What the profile selects, as written. Missing: all tools; empty: no tool.' }),
    stale: z.array(z.string()).openapi({ description: 'Selectors that match no tool.' }),
    tokenBudget: z.number().int().optional(),
    tokens: z
      .object({ selected: z.number(), available: z.number() })
      .openapi({ description: 'Estimated tokens that the definitions cost in every turn.' }),
    servers: z.array(
      z.object({
        id: z.string(),
        selected: z.enum(['all', 'some', 'none']),
        tools: z.array(
          z.object({
            name: z.string().openapi({ description: 'Its name for clients.' }),
            canonical: z.string(),
            tool: z.string(),
            title: z.string().optional(),
            description: z.string().optional(),
            selected: z.boolean().openapi({ description: 'Whether the profile selects it.' }),
            offered: z.boolean().openapi({ description: 'Whether all other rules allow it, too.' }),
            tokens: z.number().openapi({ description: 'Estimated tokens that its definition costs in every turn.' }),
            risk: z.enum(RISK_LEVELS),
            permission: z.array(z.enum(PERMISSIONS)),
            requiresApproval: z.boolean(),
          }),
        ),
      }),
    ),
  })
  .openapi('AgentTools')

type AgentTools = z.infer<typeof agentToolsSchema>

type ToolSources = Pick<AdminContext, 'catalog' | 'listings'>

/** A profile of the file, and the tools that it selects now. */
function profileView(profile: ProfileSettings, { catalog, listings }: ToolSources): ProfileView {
  const { agent, variant, clientApproval, selectedMcpTools, inheritsSelection, location, ...more } = profile
  const { title, tokenBudget, session } = more
  const { tools } = catalog.snapshot
  const selection = listings.selection(selectedMcpTools)
  return {
    name: profileKey(agent, variant),
    ...{ agent, variant },
    ...(clientApproval !== undefined && { clientApproval }),
    ...(title !== undefined && { title }),
    ...(selectedMcpTools && { selectedMcpTools: [...selectedMcpTools] }),
    ...(inheritsSelection && { inheritsSelection }),
    ...(tokenBudget !== undefined && { tokenBudget }),
    ...(session !== undefined && { session }),
    line: location.line,
    etag: profileEtag(profile),
    tools: {
      selected: tools.filter((offer) => selection.includes(toToolRef(offer))).length,
      available: tools.length,
      unmatched: [...selection.unmatched],
    },
  }
}

interface AgentToolsRequest {
  readonly principal: Principal
  readonly profile: Pick<ProfileSettings, 'selectedMcpTools' | 'tokenBudget'>
}

/** Every server and tool, and whether it is selected. */
function agentToolsView(
  { principal, profile: { selectedMcpTools: selectors, tokenBudget } }: AgentToolsRequest,
  { catalog, listings, review }: AdminContext,
): AgentTools {
  const selection = listings.selection(selectors)
  const toView = (offer: Offer) => ({
    name: offer.wire,
    canonical: offer.recordName,
    tool: offer.name,
    ...titleAndDescription(offer),
    selected: selection.includes(toToolRef(offer)),
    offered: listings.decisionFor(offer, principal).outcome !== 'deny',
    tokens: countToolTokens(offer),
    ...pickGoverned(governedView(review.reviewOf(offer))),
  })
  const byServer = new Map<string, ReturnType<typeof toView>[]>(catalog.servers.map((id) => [id, []]))
  for (const offer of catalog.snapshot.allTools) byServer.get(offer.server)?.push(toView(offer))
  const servers = [...byServer].map(([id, tools]) => ({
    id,
    selected: selection.includesServer(id) ? selectionExtent(tools) : ('none' as const),
    tools,
  }))
  const all = servers.flatMap(({ tools }) => tools)
  return {
    ...{ agent: principal.agent, variant: principal.profile, supportsMcp: true, servers },
    ...(selectors && { selectors: [...selectors] }),
    stale: [...selection.unmatched],
    ...(tokenBudget !== undefined && { tokenBudget }),
    tokens: { selected: sumTokens(all.filter(({ selected }) => selected)), available: sumTokens(all) },
  }
}

/** What definitions cost the agent in every turn; `undefined` if there is no such profile. */
export function countSelectionTokens(
  { agent, variant }: ProfileRef,
  { settings, catalog, listings }: Pick<AdminContext, 'settings' | 'catalog' | 'listings'>,
): AgentTools['tokens'] | undefined {
  const profile = settings.profiles.get(profileKey(agent, variant))
  if (profile === undefined && variant !== DEFAULT_VARIANT) return undefined
  const selection = listings.selection(profile?.selectedMcpTools)
  const count = (offers: readonly Offer[]): number => offers.reduce((sum, offer) => sum + countToolTokens(offer), 0)
  const { allTools } = catalog.snapshot
  return {
    selected: count(allTools.filter((offer) => selection.includes(toToolRef(offer)))),
    available: count(allTools),
  }
}

const sumTokens = (tools: readonly { readonly tokens: number }[]): number =>
  tools.reduce((sum, { tokens }) => sum + tokens, 0)

const pickGoverned = ({ risk, permission, requiresApproval }: ReturnType<typeof governedView>) => ({
  ...{ risk, permission, requiresApproval },
})

const toToolRef = ({ server, name }: Offer) => ({ server, tool: name })

/** For a server of which something is selected; a server without tools counts as `all`. */
const selectionExtent = (tools: readonly { readonly selected: boolean }[]): 'all' | 'some' =>
  tools.every(({ selected }) => selected) ? 'all' : 'some'

function titleAndDescription({ definition: { title, description } }: Offer) {
  return { ...(typeof title === 'string' && { title }), ...(typeof description === 'string' && { description }) }
}

const profileParams = strictInput({ agent: z.string().max(100), variant: z.string().max(300) })

const preconditions = z.object({
  'if-match': z
    .string()
    .max(1_000)
    .optional()
    .openapi({ description: 'The ETag of the profile that was read; `*` overwrites in any case.' }),
  'if-none-match': z
    .literal('*')
    .optional()
    .openapi({ description: 'Instead of `if-match`: creates the profile, if nobody else has.' }),
})

/** PUT replaces the profile: members missing in the body are removed from the file. Unknown fields are preserved. */
const profileBody = strictInput({
  title: z.string().max(1_000).optional(),
  selectedMcpTools: z.array(z.string().min(1).max(1_000)).max(10_000).optional(),
  tokenBudget: z.number().int().positive().optional(),
  session: z.string().min(1).max(256).optional(),
  clientApproval: z.boolean().optional(),
})

const etagHeader = z.object({ etag: z.string().openapi({ description: 'The version of this profile.' }) })

const withEtag = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  ...jsonResponse(schema, description),
  headers: etagHeader,
})

const listProfiles = createRoute({
  method: 'get',
  path: '/profiles',
  summary: 'All profiles of all agents',
  responses: {
    200: jsonResponse(
      z.object({ file: z.string(), profiles: z.array(profileSchema) }),
      'The current content of profiles.json.',
    ),
    ...PROBLEM_RESPONSES,
  },
})

const getProfile = createRoute({
  method: 'get',
  path: '/profiles/{agent}/{variant}',
  summary: 'One profile',
  request: { params: profileParams },
  responses: { 200: withEtag(profileSchema, 'The profile, as profiles.json has it now.'), ...PROBLEM_RESPONSES },
})

const conflictSchema = problemSchema
  .extend({ current: profileSchema.optional().openapi({ description: 'As the file has it now, if it does.' }) })
  .openapi('ProfileConflict')

const putProfile = createRoute({
  method: 'put',
  path: '/profiles/{agent}/{variant}',
  summary: 'Change or create a profile',
  request: {
    params: profileParams,
    headers: preconditions,
    body: { required: true, content: { 'application/json': { schema: profileBody } } },
  },
  responses: {
    200: withEtag(profileSchema, 'It is written and in force.'),
    412: jsonResponse(conflictSchema, 'Somebody else changed the profile after it was read; nothing is written.'),
    ...PROBLEM_RESPONSES,
  },
})

const deleteProfile = createRoute({
  method: 'delete',
  path: '/profiles/{agent}/{variant}',
  summary: 'Delete a profile; tokens for it then select no tool',
  request: { params: profileParams, headers: preconditions },
  responses: { 200: jsonResponse(z.object({ name: z.string() }), 'It is gone.'), ...PROBLEM_RESPONSES },
})

const agentSchema = z
  .object({
    id: z.string(),
    title: z.string(),
    aliases: z.array(z.string()),
    supportsMcp: z.boolean(),
    enforcement: z
      .enum(['strict', 'partial', 'none'])
      .optional()
      .openapi({ description: 'How much a launch can enforce. Missing: the agent is known only from profiles.json.' }),
  })
  .openapi('Agent')

const listAgents = createRoute({
  method: 'get',
  path: '/agents',
  summary: 'The agents: the supported ones, and those that profiles.json names',
  responses: {
    200: jsonResponse(z.object({ agents: z.array(agentSchema) }), 'In the order of `sallyport agents`.'),
    ...PROBLEM_RESPONSES,
  },
})

const listAgentTools = createRoute({
  method: 'get',
  path: '/agents/{agent}/tools',
  summary: 'The servers and tools that an agent can get, and which of them its profile selects',
  request: {
    params: strictInput({ agent: z.string().max(100) }),
    query: strictInput({ variant: z.string().max(300).optional().openapi({ description: '`default` unless given.' }) }),
  },
  responses: { 200: jsonResponse(agentToolsSchema, 'All tools, in the order of the servers.'), ...PROBLEM_RESPONSES },
})

export const profileRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listProfiles, async (c) => {
      await waitForServers(context)
      const file = await context.profiles.read()
      const profiles = [...file.profiles.values()].map((profile) => profileView(profile, context))
      return c.json({ file: file.path, profiles }, 200)
    })
    .openapi(getProfile, async (c) => {
      await waitForServers(context)
      const file = await context.profiles.read()
      const profile = requireProfile(file.profiles, c.req.valid('param'))
      setEtag(c, profile)
      return c.json(profileView(profile, context), 200)
    })
    .openapi(putProfile, async (c) => {
      const ref = c.req.valid('param')
      const { title = null, selectedMcpTools = null, tokenBudget = null, ...more } = c.req.valid('json')
      const { session = null, clientApproval = null } = more
      const change = { title, selectedMcpTools, tokenBudget, session, clientApproval }
      const etag = readPrecondition(c.req.valid('header'))
      const file = await context.profiles.set(ref, change, etag).catch(keepConflict)
      if (file instanceof SallyportError) {
        const now = await context.profiles.read()
        const current = now.profiles.get(profileKey(agentSlug(ref.agent), ref.variant))
        if (current) setEtag(c, current)
        return c.json({ ...toProblem(file), ...(current && { current: profileView(current, context) }) }, 412)
      }
      const profile = requireProfile(file.profiles, ref)
      setEtag(c, profile)
      return c.json(profileView(profile, context), 200)
    })
    .openapi(deleteProfile, async (c) => {
      const ref = c.req.valid('param')
      await context.profiles.remove(ref, readPrecondition(c.req.valid('header')))
      return c.json({ name: `${agentSlug(ref.agent)}.${ref.variant}` }, 200)
    })
    .openapi(listAgents, (c) => c.json({ agents: [...listKnownAgents(context)] }, 200))
    .openapi(listAgentTools, async (c) => {
      await waitForServers(context)
      const { id: agent, supportsMcp } = requireAgent(c.req.valid('param').agent, context)
      const { variant = 'default' } = c.req.valid('query')
      if (!supportsMcp) return c.json({ agent, variant, supportsMcp, servers: [], ...NO_TOOLS }, 200)
      const profile = findEffectiveProfile(context.settings.profiles, { agent, variant })
      const principal: Principal = { ...callerOf(c.env), agent, profile: variant, role: 'agent' }
      return c.json(agentToolsView({ principal, profile }, context), 200)
    })

const NO_TOOLS = { stale: [], tokens: { selected: 0, available: 0 } }

type AgentView = z.infer<typeof agentSchema>

/** Includes agents that are known only by a name in a profile. */
function listKnownAgents({ settings }: AdminContext): readonly AgentView[] {
  const known = ADAPTERS.map(({ id, title, aliases, supportsMcp, enforcement }) => ({
    ...{ id, title, aliases: [...aliases], supportsMcp, enforcement: enforcement.level },
  }))
  const named = new Set([...settings.profiles.values()].map(({ agent }) => agent))
  for (const { id } of known) named.delete(id)
  return [...known, ...[...named].sort().map((id) => ({ id, title: id, aliases: [], supportsMcp: true }))]
}

function requireAgent(name: string, context: AdminContext): AgentView {
  const slug = agentSlug(name)
  const agents = listKnownAgents(context)
  const found = agents.find(({ id, aliases }) => id === slug || aliases.includes(slug))
  if (found !== undefined) return found
  const names = agents.flatMap(({ id, aliases }) => [id, ...aliases])
  throw new SallyportError('AGENT_UNKNOWN', `There is no agent ${quoteText(name, 100)}.${didYouMean(slug, names)}`, {
    hint: 'See `GET /api/agents`.',
  })
}

/** The editor of the late version gets the current one with the error, to compare them. */
function keepConflict(error: unknown): SallyportError {
  if (error instanceof SallyportError && error.code === 'PROFILES_CHANGED') return error
  throw error
}

function setEtag(c: Context<ApiEnv>, profile: ProfileSettings): void {
  c.header('etag', `"${profileEtag(profile)}"`)
}

/** `undefined` means overwrite in any case. One is required: otherwise two editors would overwrite each other. */
function readPrecondition(headers: z.infer<typeof preconditions>): string | undefined {
  const { 'if-match': match, 'if-none-match': none } = headers
  if (match !== undefined && none !== undefined)
    throw new SallyportError('INVALID_REQUEST', 'If-Match and If-None-Match contradict each other. Send one of them.')
  if (none !== undefined) return NO_PROFILE
  if (match === undefined)
    throw new SallyportError('PROFILES_UNREAD', 'The header If-Match is missing.', {
      hint: 'Send the ETag of the profile that you read, so that nobody’s change is overwritten; `If-None-Match: *` creates one, and `If-Match: *` overwrites in any case.',
    })
  const value = match.trim()
  if (value === '*') return undefined
  return /^"([0-9a-f]{64})"$/.exec(value)?.[1] ?? value
}
