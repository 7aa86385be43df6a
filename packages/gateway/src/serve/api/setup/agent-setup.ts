import { createRoute, z } from '@hono/zod-openapi'
import { type JsonObject, SallyportError } from '@sallyport/core'
import {
  ADAPTERS,
  type AgentAdapter,
  buildConnectEntry,
  type FoundServer,
  findAdapter,
  findProgram,
  type ImportPlan,
  listFoundServers,
  mergeServers,
  type NativeFileResult,
  readAgentConfigs,
  tokenVariableName,
} from '../../../agents/agents.ts'
import { findEffectiveProfile } from '../../../config/config.ts'
import type { AdminContext } from '../../admin/admin-context.ts'
import { mintToken } from '../../admin/mint-token.ts'
import { strictInput } from '../invalid-input.ts'
import { looseObject } from '../loose-object.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from '../routes.ts'

const nativeServerSchema = z.object({
  name: z.string(),
  entry: looseObject.optional().openapi({
    description: 'As it would be in config.yaml, with secrets replaced by variables. Missing if it cannot be used.',
  }),
  why: z.string().optional().openapi({ description: 'Why the gateway cannot or would not take it over.' }),
  notes: z.array(z.string()),
  id: z.string().optional().openapi({ description: 'Its name in config.yaml, if it is there.' }),
})

const filesSchema = z
  .object({
    agent: z.string(),
    title: z.string(),
    supportsMcp: z.boolean(),
    program: z.string().optional().openapi({ description: 'Its path, if it is installed.' }),
    files: z
      .array(
        z.object({
          path: z.string(),
          scope: z.enum(['user', 'project', 'local']),
          state: z.enum(['missing', 'read', 'broken']),
          problems: z.array(z.string()),
          servers: z.array(nativeServerSchema),
        }),
      )
      .openapi({ description: 'Its own files, which the gateway only reads.' }),
  })
  .openapi('AgentFiles')

export type AgentFiles = z.infer<typeof filesSchema>

const foundAgentsSchema = z
  .object({
    agents: z
      .array(
        filesSchema.extend({
          enforcement: z.enum(['strict', 'partial', 'none']).openapi({ description: 'How much a launch can enforce.' }),
        }),
      )
      .openapi({ description: 'Those whose program or files are on this machine.' }),
    importable: z
      .array(
        z.object({
          id: z.string().openapi({ description: 'The name that it would get in config.yaml.' }),
          from: z.array(z.object({ agent: z.string(), name: z.string() })),
          secrets: z.number().int().openapi({ description: 'Keys and tokens that would become variables.' }),
        }),
      )
      .openapi({
        description: 'The servers that an import of all agents would add; the same one of two agents is one.',
      }),
  })
  .openapi('FoundAgents')

export type FoundAgents = z.infer<typeof foundAgentsSchema>

const connectionSchema = z
  .object({
    agent: z.string(),
    variant: z.string(),
    file: z.string().optional().openapi({ description: 'The file to paste the entry into.' }),
    entry: z.string().openapi({ description: 'In the format of that file.' }),
    variable: z.string().openapi({ description: 'The environment variable that holds the token.' }),
    tokenSource: z.enum(['named', 'inherited', 'pasted']).openapi({
      description: '`pasted`: the agent cannot read variables, and the token is part of the entry.',
    }),
    token: z.string().openapi({ description: 'Shown only once.' }),
    tokenId: z.string(),
    expires: z.iso.datetime(),
  })
  .openapi('AgentConnection')

export type AgentConnection = z.infer<typeof connectionSchema>

const agentParam = strictInput({ agent: z.string().max(100) })

const getFiles = createRoute({
  method: 'get',
  path: '/agents/{agent}/files',
  summary: 'The agent’s own files on this machine, with its servers',
  request: { params: agentParam },
  responses: { 200: jsonResponse(filesSchema, 'Read now. Nothing is ever written to them.'), ...PROBLEM_RESPONSES },
})

const getFoundAgents = createRoute({
  method: 'get',
  path: '/found-agents',
  summary: 'The agents on this machine with their own files, and what an import of all their servers would add',
  responses: {
    200: jsonResponse(foundAgentsSchema, 'Read now. Nothing is ever written to them.'),
    ...PROBLEM_RESPONSES,
  },
})

const DAY_MS = 86_400_000

const connectBody = strictInput({
  variant: z.string().max(300).default('default'),
  days: z.number().int().min(1).max(3_650).default(90).openapi({ description: 'How long the token is valid.' }),
})

const connectRoute = createRoute({
  method: 'post',
  path: '/agents/{agent}/connect',
  summary: 'The entry that connects an agent permanently, with a new token for it',
  request: { params: agentParam, body: { required: true, content: { 'application/json': { schema: connectBody } } } },
  responses: { 201: jsonResponse(connectionSchema, 'For a person to paste.'), ...PROBLEM_RESPONSES },
})

export const agentSetupRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(getFoundAgents, async (c) => c.json(await findAgents(context), 200))
    .openapi(getFiles, async (c) => {
      const adapter = findAdapter(c.req.valid('param').agent)
      const results = await readAgentConfigs(adapter, context.host)
      return c.json(viewAgent({ adapter, results }, { existing: await readExisting(context), ...context }), 200)
    })
    .openapi(connectRoute, async (c) => {
      const adapter = findAdapter(c.req.valid('param').agent)
      if (!adapter.supportsMcp) throw new SallyportError('INVALID_PARAMS', `${adapter.title} cannot use MCP servers.`)
      return c.json(await connectAgent(adapter, c.req.valid('json'), context), 201)
    })

/** A file that cannot be read has no servers that are known. */
const readExisting = (context: AdminContext): Promise<ReadonlyMap<string, JsonObject>> =>
  context.servers.readWritten().catch(() => new Map<string, JsonObject>())

async function findAgents(context: AdminContext): Promise<FoundAgents> {
  const existing = await readExisting(context)
  const read = await Promise.all(
    ADAPTERS.map(async (adapter) => ({ adapter, results: await readAgentConfigs(adapter, context.host) })),
  )
  const agents = read.map((one) => ({
    ...viewAgent(one, { existing, ...context }),
    enforcement: one.adapter.enforcement.level,
  }))
  const found = read.flatMap(({ adapter, results }) => results.flatMap((result) => listFoundServers(adapter, result)))
  const { added } = planImport(found, { existing, ...context }, 'leave')
  return {
    agents: agents.filter(
      ({ program, files }) => program !== undefined || files.some(({ state }) => state !== 'missing'),
    ),
    importable: added.map(({ id, sources, secrets }) => ({
      id,
      from: sources.map(({ agent, name }) => ({ agent, name })),
      secrets: secrets.length,
    })),
  }
}

interface ReadAgent {
  readonly adapter: AgentAdapter
  readonly results: readonly NativeFileResult[]
}

interface PlanContext extends Pick<AdminContext, 'environment' | 'settings' | 'host'> {
  readonly existing: ReadonlyMap<string, JsonObject>
}

function viewAgent({ adapter, results }: ReadAgent, context: PlanContext): AgentFiles {
  const { id: agent, title, supportsMcp, program } = adapter
  const path = program === undefined ? undefined : findProgram(program, context.host)
  return {
    ...{ agent, title, supportsMcp },
    ...(path !== undefined && { program: path }),
    files: results.map((result) => fileView(adapter, result, planEach(listFoundServers(adapter, result), context))),
  }
}

/** What an import would do with each server alone: none is merged with another of the file. */
const planEach = (found: readonly FoundServer[], context: PlanContext): ReadonlyMap<string, ImportPlan> =>
  new Map(found.map((one) => [one.name, planImport([one], context, 'take')]))

function planImport(
  found: readonly FoundServer[],
  { existing, environment, settings }: PlanContext,
  projects: 'take' | 'leave',
): ImportPlan {
  const { port } = settings.gateway
  const lookup = (name: string): string | undefined => environment[name]
  return mergeServers({ found, existing, port, lookup, secrets: 'hide', projects })
}

function fileView(
  { id }: AgentAdapter,
  result: NativeFileResult,
  plans: ReadonlyMap<string, ImportPlan>,
): AgentFiles['files'][number] {
  const { path, scope } = result.file
  const problems = result.state === 'broken' ? [result.error.message] : []
  const servers = [...plans].map(
    ([
      name,
      {
        added: [added],
        present: [present],
        skipped: [skipped],
      },
    ]) => ({
      name,
      ...(added && { entry: { ...added.entry } }),
      ...(skipped && { why: skipped.why }),
      notes: added?.notes.map((note) => note.replace(`${id}: `, '')) ?? [],
      ...(present && { id: present.id }),
    }),
  )
  return {
    ...{ path, scope, state: result.state, servers },
    problems: result.state === 'read' ? [...result.config.problems] : problems,
  }
}

async function connectAgent(
  adapter: AgentAdapter,
  { variant, days }: { readonly variant: string; readonly days: number },
  context: AdminContext,
): Promise<AgentConnection> {
  const { home, state, host, settings, mainFile } = context
  // A misspelt variant is an error: a token for it would select no tool.
  findEffectiveProfile(settings.profiles, { agent: adapter.id, variant })
  const request = { agent: adapter.id, profile: variant, ttlMs: days * DAY_MS }
  const { token, record } = await mintToken(context, request)
  const variable = tokenVariableName(adapter.id, variant)
  // A home that came with a project is not named: with the flag, its trust would no longer be checked.
  const homeFlag = home.origin === 'project' ? [] : ['--home', home.path]
  const args = [mainFile, 'serve', '--stdio', ...homeFlag, '--state', state, '--token-from', variable]
  const window = { command: process.execPath, args }
  const { file, text, tokenSource } = buildConnectEntry(adapter, { host, window, variable, token })
  return {
    ...{ agent: adapter.id, variant, entry: text, variable, tokenSource, token, tokenId: record.id },
    ...(file !== undefined && { file }),
    expires: record.expires ?? new Date(Date.now() + days * DAY_MS).toISOString(),
  }
}
