import { createRoute, z } from '@hono/zod-openapi'
import { didYouMean, type Principal, quoteText, SallyportError } from '@sallyport/core'
import type { Context } from 'hono'
import { ADAPTERS } from '../../agents/agents.ts'
import type { Offer } from '../../catalog/catalog.ts'
import {
  agentSlug,
  findEffectiveProfile,
  type ProfileSettings,
  type ProfilesFile,
  profileKey,
  requireProfile,
} from '../../config/config.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { waitForServers } from './find-tool.ts'
import { strictInput } from './invalid-input.ts'
import { type ApiEnv, createRoutes, jsonResponse, PROBLEM_RESPONSES, requireOperator } from './routes.ts'

const profileFields = {
  title: z.string().optional(),
  selectedMcpTools: z
    .array(z.string())
    .optional()
    .openapi({ description: 'Selectors. Absent: all tools; empty: none.' }),
  inheritsSelection: z.literal(true).optional().openapi({
    description: 'The selection stands beside the variants of its agent, for all without one of their own.',
  }),
  tokenBudget: z.number().int().positive().optional(),
  session: z.string().optional(),
}

const profileSchema = z
  .object({
    name: z.string().openapi({ description: 'Such as `claude-code.reviewer`.' }),
    agent: z.string(),
    variant: z.string().openapi({ description: 'As it is written in the file.' }),
    ...profileFields,
    clientApproval: z
      .boolean()
      .optional()
      .openapi({ description: 'Whether its client may approve. Absent: where `run` started it in a terminal.' }),
    line: z.number().int().openapi({ description: 'Of the selection, or of the variant, in the file.' }),
    tools: z.object({
      selected: z.number().int(),
      available: z.number().int(),
      unmatched: z.array(z.string()).openapi({ description: 'Selectors that match nothing that is known now.' }),
    }),
  })
  .openapi('Profile')

type ProfileView = z.infer<typeof profileSchema>

const agentToolsSchema = z
  .object({
    agent: z.string(),
    variant: z.string(),
    supportsMcp: z.boolean().openapi({ description: 'Where it is false there are no servers.' }),
    servers: z.array(
      z.object({
        id: z.string(),
        selected: z.enum(['all', 'some', 'none']),
        tools: z.array(
          z.object({
            name: z.string().openapi({ description: 'What clients call it.' }),
            canonical: z.string(),
            tool: z.string(),
            title: z.string().optional(),
            description: z.string().optional(),
            selected: z.boolean().openapi({ description: 'Whether the profile selects it.' }),
            offered: z.boolean().openapi({ description: 'Whether all other rules leave it, too.' }),
          }),
        ),
      }),
    ),
  })
  .openapi('AgentTools')

type AgentTools = z.infer<typeof agentToolsSchema>

type ToolSources = Pick<AdminContext, 'catalog' | 'listings'>

/** What the file says of a profile, and what that comes to now. */
function profileView(profile: ProfileSettings, { catalog, listings }: ToolSources): ProfileView {
  const { agent, variant, clientApproval, selectedMcpTools, inheritsSelection, place, ...more } = profile
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
    line: place.line,
    tools: {
      selected: tools.filter((offer) => selection.includes(toToolRef(offer))).length,
      available: tools.length,
      unmatched: [...selection.unmatched],
    },
  }
}

interface AgentToolsRequest {
  readonly principal: Principal
  readonly selectors: readonly string[] | undefined
}

/** Every server and tool, with what the selection makes of it. */
function agentToolsView({ principal, selectors }: AgentToolsRequest, { catalog, listings }: ToolSources): AgentTools {
  const selection = listings.selection(selectors)
  const viewOf = (offer: Offer) => ({
    name: offer.wire,
    canonical: offer.recordName,
    tool: offer.name,
    ...titleAndDescription(offer),
    selected: selection.includes(toToolRef(offer)),
    offered: listings.decisionFor(offer, principal).outcome !== 'deny',
  })
  const byServer = new Map<string, ReturnType<typeof viewOf>[]>(catalog.servers.map((id) => [id, []]))
  for (const offer of catalog.snapshot.tools) byServer.get(offer.server)?.push(viewOf(offer))
  const servers = [...byServer].map(([id, tools]) => ({
    id,
    selected: selection.includesServer(id) ? selectionExtent(tools) : ('none' as const),
    tools,
  }))
  return { agent: principal.agent, variant: principal.profile, supportsMcp: true, servers }
}

const toToolRef = ({ server, name }: Offer) => ({ server, tool: name })

/** Of a server of which anything is selected; one that lists nothing is then selected whole. */
const selectionExtent = (tools: readonly { readonly selected: boolean }[]): 'all' | 'some' =>
  tools.every(({ selected }) => selected) ? 'all' : 'some'

function titleAndDescription({ definition: { title, description } }: Offer) {
  return { ...(typeof title === 'string' && { title }), ...(typeof description === 'string' && { description }) }
}

const profileParams = strictInput({ agent: z.string().max(100), variant: z.string().max(300) })

const ifMatch = z.object({
  'if-match': z
    .string()
    .max(1_000)
    .optional()
    .openapi({ description: 'The ETag of what was read; `*` overwrites whatever there is.' }),
})

/** PUT says all of it: what is left out of the body is taken out of the file. Fields that are not ours stay. */
const profileBody = strictInput({
  title: z.string().max(1_000).optional(),
  selectedMcpTools: z.array(z.string().min(1).max(1_000)).max(10_000).optional(),
  tokenBudget: z.number().int().positive().optional(),
  session: z.string().min(1).max(256).optional(),
  clientApproval: z.boolean().optional(),
})

const etagHeader = z.object({ etag: z.string().openapi({ description: 'Of profiles.json as a whole.' }) })

const withEtag = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  ...jsonResponse(schema, description),
  headers: etagHeader,
})

const listProfiles = createRoute({
  method: 'get',
  path: '/profiles',
  summary: 'All profiles of all agents',
  responses: {
    200: withEtag(z.object({ file: z.string(), profiles: z.array(profileSchema) }), 'As profiles.json has them now.'),
    ...PROBLEM_RESPONSES,
  },
})

const getProfile = createRoute({
  method: 'get',
  path: '/profiles/{agent}/{variant}',
  summary: 'One profile',
  request: { params: profileParams },
  responses: { 200: withEtag(profileSchema, 'As profiles.json has it now.'), ...PROBLEM_RESPONSES },
})

const putProfile = createRoute({
  method: 'put',
  path: '/profiles/{agent}/{variant}',
  summary: 'Change a profile, or make one',
  request: {
    params: profileParams,
    headers: ifMatch,
    body: { required: true, content: { 'application/json': { schema: profileBody } } },
  },
  responses: { 200: withEtag(profileSchema, 'It is written and in force.'), ...PROBLEM_RESPONSES },
})

const deleteProfile = createRoute({
  method: 'delete',
  path: '/profiles/{agent}/{variant}',
  summary: 'Delete a profile; whoever has a token for it has no tool then',
  request: { params: profileParams, headers: ifMatch },
  responses: { 200: withEtag(z.object({ name: z.string() }), 'It is gone.'), ...PROBLEM_RESPONSES },
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
      .openapi({ description: 'What a launch can hold it to. Absent: it is known from profiles.json alone.' }),
  })
  .openapi('Agent')

const listAgents = createRoute({
  method: 'get',
  path: '/agents',
  summary: 'The types of agents: those that are known, and those that profiles.json names',
  responses: {
    200: jsonResponse(z.object({ agents: z.array(agentSchema) }), 'In the order of `sallyport agents`.'),
    ...PROBLEM_RESPONSES,
  },
})

const listAgentTools = createRoute({
  method: 'get',
  path: '/agents/{agent}/tools',
  summary: 'The servers and tools that an agent can be given, and which of them its profile selects',
  request: {
    params: strictInput({ agent: z.string().max(100) }),
    query: strictInput({ variant: z.string().max(300).optional().openapi({ description: '`default` unless given.' }) }),
  },
  responses: { 200: jsonResponse(agentToolsSchema, 'All of them, in the order of the servers.'), ...PROBLEM_RESPONSES },
})

export const profileRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listProfiles, async (c) => {
      await waitForServers(context)
      const file = await context.profiles.read()
      setEtag(c, file)
      const profiles = [...file.profiles.values()].map((profile) => profileView(profile, context))
      return c.json({ file: file.path, profiles }, 200)
    })
    .openapi(getProfile, async (c) => {
      await waitForServers(context)
      const file = await context.profiles.read()
      const profile = requireProfile(file.profiles, c.req.valid('param'))
      setEtag(c, file)
      return c.json(profileView(profile, context), 200)
    })
    .openapi(putProfile, async (c) => {
      const ref = c.req.valid('param')
      const { title = null, selectedMcpTools = null, tokenBudget = null, ...more } = c.req.valid('json')
      const { session = null, clientApproval = null } = more
      const wish = { title, selectedMcpTools, tokenBudget, session, clientApproval }
      const file = await context.profiles.set(ref, wish, parseIfMatch(c.req.valid('header')['if-match']))
      setEtag(c, file)
      return c.json(profileView(requireProfile(file.profiles, ref), context), 200)
    })
    .openapi(deleteProfile, async (c) => {
      const ref = c.req.valid('param')
      const file = await context.profiles.remove(ref, parseIfMatch(c.req.valid('header')['if-match']))
      setEtag(c, file)
      return c.json({ name: `${agentSlug(ref.agent)}.${ref.variant}` }, 200)
    })
    .openapi(listAgents, (c) => c.json({ agents: [...listKnownAgents(context)] }, 200))
    .openapi(listAgentTools, async (c) => {
      await waitForServers(context)
      const { id: agent, supportsMcp } = requireAgent(c.req.valid('param').agent, context)
      const { variant = 'default' } = c.req.valid('query')
      if (!supportsMcp) return c.json({ agent, variant, supportsMcp, servers: [] }, 200)
      const { selectedMcpTools: selectors } = findEffectiveProfile(context.settings.profiles, { agent, variant })
      const principal: Principal = { ...requireOperator(c.env), agent, profile: variant, role: 'agent' }
      return c.json(agentToolsView({ principal, selectors }, context), 200)
    })

type AgentView = z.infer<typeof agentSchema>

/** Tokens and profiles may be for agents of which we know nothing but the name. */
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
  const words = agents.flatMap(({ id, aliases }) => [id, ...aliases])
  throw new SallyportError('AGENT_UNKNOWN', `There is no agent ${quoteText(name, 100)}.${didYouMean(slug, words)}`, {
    hint: 'See `GET /api/agents`.',
  })
}

function setEtag(c: Context<ApiEnv>, { etag }: ProfilesFile): void {
  c.header('etag', `"${etag}"`)
}

/** Undefined: whatever there is. Without a word of what was read, two editors would overwrite each other. */
function parseIfMatch(header: string | undefined): string | undefined {
  if (header === undefined)
    throw new SallyportError('PROFILES_UNREAD', 'The header If-Match is missing.', {
      hint: 'Send the ETag of what you read, so that nobody’s change is overwritten; `If-Match: *` overwrites in any case.',
    })
  const value = header.trim()
  if (value === '*') return undefined
  return /^"([0-9a-f]{64})"$/.exec(value)?.[1] ?? value
}
