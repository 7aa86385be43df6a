import { createRoute, z } from '@hono/zod-openapi'
import { didYouMean, formatHostAndPort, maskSecrets, SallyportError } from '@sallyport/core'
import { type Catalog, findCounterpartDrift } from '../../catalog/catalog.ts'
import { collectSecrets, type ServerSandbox } from '../../config/config.ts'
import type { Counterpart, ServerCatalog, Upstream, UpstreamConfig, UpstreamStatus } from '../../upstream/upstream.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { strictInput } from './invalid-input.ts'
import { callerOf, createRoutes, jsonResponse, PROBLEM_RESPONSES, viaField } from './routes.ts'

/** The state of one instance of a server. */
export const stateFields = {
  state: z.enum(['disabled', 'stopped', 'starting', 'ready', 'restarting', 'broken', 'needs-login', 'closed']),
  since: z.number().openapi({ description: 'Milliseconds since 1970.' }),
  reason: z.string().optional().openapi({ description: 'Why it is not ready.' }),
  retryAt: z.number().optional().openapi({ description: 'Time of the next attempt, in the same format as `since`.' }),
  restarts: z.number().int(),
  era: z.string().optional(),
  messages: z
    .array(z.string())
    .openapi({ description: 'The last messages of the server, and of the gateway about it.' }),
  messageCount: z.number().int().openapi({ description: 'How many there have been, also those that are not kept.' }),
  health: z
    .object({
      isHealthy: z.boolean(),
      since: z.number().openapi({ description: 'Time of the last change, in the same format as `since`.' }),
      checkedAt: z.number(),
      reason: z.string().optional(),
    })
    .optional()
    .openapi({ description: 'Result of its health checks; missing before the first one, or if there are none.' }),
  dropped: z
    .record(z.string(), z.number().int())
    .openapi({ description: 'How many of its messages were not passed on, by reason.' }),
}

const serverSchema = z
  .object({
    id: z.string(),
    kind: z.enum(['stdio', 'http', 'sse', 'docker-gateway', 'built-in']),
    ...stateFields,
    pid: z.number().int().optional(),
    ownConnections: z
      .object({ count: z.number().int(), pids: z.array(z.number().int()) })
      .optional()
      .openapi({
        description:
          'For a server that is not shared by all clients: how many have their own connection, and the latest processes.',
      }),
    counterpart: z
      .object({
        ...stateFields,
        missing: z.array(z.string()).openapi({ description: 'Tools that it does not offer.' }),
        differing: z.array(z.string()).openapi({ description: 'Tools that it defines differently.' }),
      })
      .optional()
      .openapi({ description: 'Its isolated instance, which gets the calls of sessions with private data.' }),
    takesCallers: z.boolean().optional().openapi({
      description:
        'With `identity: forward`: whether it declares that it takes caller tokens. Without that it gets none.',
    }),
    tools: z.number().int(),
    resources: z.number().int(),
    prompts: z.number().int(),
    leftOut: z.array(z.object({ name: z.string(), reason: z.string() })),
    config: z
      .object({
        title: z.string().optional(),
        enabled: z.boolean(),
        location: z.object({ file: z.string(), line: z.number() }),
        command: z.string().optional(),
        args: z.array(z.string()).optional().openapi({ description: 'Values from variables are masked.' }),
        cwd: z.string().optional(),
        per: z.enum(['gateway', 'session']).optional(),
        sandbox: z
          .object({
            driver: z.enum(['auto', 'bubblewrap', 'docker', 'podman', 'none']),
            image: z.string().optional(),
            network: z.enum(['brokered', 'host', 'none']),
            mounts: z.array(z.string()),
            forwards: z
              .array(z.object({ listen: z.number().int(), to: z.string() }))
              .openapi({ description: 'Ports inside that lead to a host.' }),
            limits: z
              .object({
                memory: z.number().optional(),
                processes: z.number().int().optional(),
                temporaryFiles: z.number().optional(),
              })
              .openapi({ description: 'Those of its entry; sandbox.limits has the others. Sizes are in bytes.' }),
          })
          .optional()
          .openapi({ description: 'How it is isolated; missing if it has all rights of the user.' }),
        url: z.string().optional().openapi({ description: 'Without user, password and query.' }),
        urlIsolated: z.string().optional().openapi({ description: 'The address of its isolated instance.' }),
        env: z.array(z.string()).optional().openapi({ description: 'Only the names.' }),
        headers: z.array(z.string()).optional().openapi({ description: 'Only the names.' }),
        includeTools: z.array(z.string()).optional(),
        excludeTools: z.array(z.string()),
        identity: z.enum(['forward']).optional(),
      })
      .openapi({ description: 'Its config entry, without anything that may be secret.' }),
  })
  .openapi('Server')

export type ServerView = z.infer<typeof serverSchema>

function serverView(upstream: Upstream, catalog: Catalog): ServerView {
  const status = upstream.status()
  const { id, kind, pid, takesCallers, ownConnections } = status
  const listed = catalog.serverCatalog(id)
  const counterpart = upstream.counterpart && counterpartView(upstream.counterpart, listed)
  return {
    ...{ id, kind },
    ...stateView(status),
    ...withoutUndefined({ pid, takesCallers, counterpart }),
    ...(ownConnections && { ownConnections: { ...ownConnections, pids: [...ownConnections.pids] } }),
    tools: listed?.tools.length ?? 0,
    resources: (listed?.resources.length ?? 0) + (listed?.resourceTemplates.length ?? 0),
    prompts: listed?.prompts.length ?? 0,
    leftOut: listed?.leftOut.map(({ name, reason }) => ({ name, reason })) ?? [],
    config: configView(upstream.config),
  }
}

function stateView({
  state,
  since,
  reason,
  retryAt,
  restarts,
  era,
  messages,
  messageCount,
  health,
  dropped,
}: UpstreamStatus) {
  return {
    ...{ state, since, restarts },
    ...withoutUndefined({ reason, retryAt, era }),
    messages: [...messages],
    messageCount,
    dropped: withoutUndefined(dropped),
    ...(health && {
      health: {
        ...withoutUndefined(health),
        isHealthy: health.isHealthy,
        since: health.since,
        checkedAt: health.checkedAt,
      },
    }),
  }
}

/** Names that are shown of a list: the rest is as wrong. */
const MAX_NAMES = 100

function counterpartView({ status, catalog }: Counterpart, listed: ServerCatalog | undefined) {
  const drift = listed && catalog && findCounterpartDrift(listed, catalog)
  const [missing, differing] = [drift?.missing ?? [], drift?.differing ?? []]
  return { ...stateView(status()), missing: missing.slice(0, MAX_NAMES), differing: differing.slice(0, MAX_NAMES) }
}

/** Shows only what is listed here: a new setting stays hidden until somebody decides that it is not secret. */
function configView(config: UpstreamConfig): ServerView['config'] {
  const { title, enabled, location, includeTools, excludeTools, identity } = config
  return {
    enabled,
    location: { file: location.file, line: location.line },
    excludeTools: [...excludeTools],
    ...withoutUndefined({ title, identity, includeTools: includeTools && [...includeTools] }),
    ...addressView(config),
  }
}

function addressView(config: UpstreamConfig): Partial<ServerView['config']> {
  if (config.kind === 'built-in') return {}
  const secrets = collectSecrets(config)
  const mask = (text: string): string => maskSecrets(text, secrets)
  if (!('command' in config)) {
    const { url, urlIsolated, headers } = config
    return {
      url: mask(redactUrl(url)),
      ...(urlIsolated !== undefined && { urlIsolated: mask(redactUrl(urlIsolated)) }),
      headers: Object.keys(headers),
    }
  }
  const { command, args, cwd, env } = config
  return {
    command: mask(command),
    args: args.map(mask),
    env: Object.keys(env),
    ...withoutUndefined({
      cwd: cwd === undefined ? undefined : mask(cwd),
      per: config.kind === 'stdio' ? config.per : undefined,
      sandbox: config.kind === 'stdio' ? sandboxView(config.sandbox, mask) : undefined,
    }),
  }
}

function sandboxView(sandbox: ServerSandbox | undefined, mask: (text: string) => string) {
  if (sandbox === undefined) return undefined
  const { driver, image, network, mounts, forwards = [], limits = {} } = sandbox
  return {
    ...{ driver, network, mounts: mounts.map(mask), limits: withoutUndefined(limits) },
    forwards: forwards.map(({ listen, ...to }) => ({ listen, to: formatHostAndPort(to) })),
    ...(image !== undefined && { image: mask(image) }),
  }
}

/** The user part and the query of a URL may contain tokens. */
function redactUrl(text: string): string {
  if (!URL.canParse(text)) return '(not a URL)'
  const { origin, pathname } = new URL(text)
  return `${origin}${pathname}`
}

/** Removes undefined members: JSON would drop them, and the types must match. */
function withoutUndefined<Fields extends object>(fields: Fields): { [Key in keyof Fields]?: NonNullable<Fields[Key]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}

const listServers = createRoute({
  method: 'get',
  path: '/servers',
  summary: 'The servers behind the gateway',
  responses: {
    200: jsonResponse(z.object({ servers: z.array(serverSchema) }), 'All servers, the gateway’s own first.'),
    ...PROBLEM_RESPONSES,
  },
})

const getServer = createRoute({
  method: 'get',
  path: '/servers/{id}',
  summary: 'One server',
  request: { params: strictInput({ id: z.string() }) },
  responses: { 200: jsonResponse(serverSchema, 'The current state of the server.'), ...PROBLEM_RESPONSES },
})

const restartServer = createRoute({
  method: 'post',
  path: '/servers/{id}/restart',
  summary: 'Close a server and start it again',
  request: {
    params: strictInput({ id: z.string() }),
    body: { content: { 'application/json': { schema: strictInput({ via: viaField }) } } },
  },
  responses: { 200: jsonResponse(serverSchema, 'It is starting.'), ...PROBLEM_RESPONSES },
})

export const serverRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listServers, async (c) => {
      await context.fleet.waitUntilConfigured()
      return c.json({ servers: context.fleet.all().map((upstream) => serverView(upstream, context.catalog)) }, 200)
    })
    .openapi(getServer, async (c) => {
      await context.fleet.waitUntilConfigured()
      return c.json(serverView(findServer(context, c.req.valid('param').id), context.catalog), 200)
    })
    .openapi(restartServer, async (c) => {
      await context.fleet.waitUntilConfigured()
      const { id } = c.req.valid('param')
      const { config } = findServer(context, id)
      if (!config.enabled) throw new SallyportError('INVALID_PARAMS', `Server ${id} is disabled. Enable it instead.`)
      if (config.kind === 'built-in')
        throw new SallyportError('INVALID_PARAMS', `Server ${id} is part of the gateway and cannot be restarted.`)
      const { via = 'api' } = c.req.valid('json')
      context.record({ type: 'UPSTREAM_RESTART_REQUESTED', server: id, by: callerOf(c.env).user, via })
      context.fleet.restart(id)
      return c.json(serverView(findServer(context, id), context.catalog), 200)
    })

export function findServer({ fleet }: AdminContext, id: string): Upstream {
  const upstream = fleet.get(id)
  if (upstream) return upstream
  const known = fleet.all().map(({ config }) => config.id)
  const shown = id.slice(0, 100)
  throw new SallyportError(
    'SERVER_UNKNOWN',
    `There is no server ${JSON.stringify(shown)}.${didYouMean(shown, known)}`,
    {
      hint: 'See `sallyport servers` for all of them.',
    },
  )
}
