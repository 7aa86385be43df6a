import { createRoute, z } from '@hono/zod-openapi'
import { didYouMean, maskSecrets, SallyportError } from '@sallyport/core'
import type { Catalog } from '../../catalog/catalog.ts'
import { collectSecrets } from '../../config/config.ts'
import type { Upstream, UpstreamConfig } from '../../upstream/upstream.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { strictInput } from './invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const serverSchema = z
  .object({
    id: z.string(),
    kind: z.enum(['stdio', 'http', 'sse', 'docker-gateway', 'built-in']),
    state: z.enum(['disabled', 'stopped', 'starting', 'ready', 'restarting', 'broken', 'needs-login', 'closed']),
    since: z.number().openapi({ description: 'Milliseconds since 1970.' }),
    reason: z.string().optional().openapi({ description: 'Why it is not ready.' }),
    retryAt: z.number().optional().openapi({ description: 'Time of the next attempt, in the same format as `since`.' }),
    restarts: z.number().int(),
    era: z.string().optional(),
    pid: z.number().int().optional(),
    ownConnections: z
      .object({ count: z.number().int(), pids: z.array(z.number().int()) })
      .optional()
      .openapi({
        description:
          'For a server that is not shared by all clients: how many have their own connection, and the latest processes.',
      }),
    messages: z
      .array(z.string())
      .openapi({ description: 'The last messages of the server, and of the gateway about it.' }),
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
        url: z.string().optional().openapi({ description: 'Without user, password and query.' }),
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
  const { reason, retryAt, era, pid, takesCallers, ownConnections, messages, dropped, health, ...status } =
    upstream.status()
  const serverCatalog = catalog.serverCatalog(status.id)
  return {
    ...status,
    ...withoutUndefined({ reason, retryAt, era, pid, takesCallers }),
    ...(ownConnections && { ownConnections: { ...ownConnections, pids: [...ownConnections.pids] } }),
    messages: [...messages],
    dropped: withoutUndefined(dropped),
    ...(health && {
      health: {
        ...withoutUndefined(health),
        isHealthy: health.isHealthy,
        since: health.since,
        checkedAt: health.checkedAt,
      },
    }),
    tools: serverCatalog?.tools.length ?? 0,
    resources: (serverCatalog?.resources.length ?? 0) + (serverCatalog?.resourceTemplates.length ?? 0),
    prompts: serverCatalog?.prompts.length ?? 0,
    leftOut: serverCatalog?.leftOut.map(({ name, reason: why }) => ({ name, reason: why })) ?? [],
    config: configView(upstream.config),
  }
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
  if (!('command' in config)) return { url: mask(redactUrl(config.url)), headers: Object.keys(config.headers) }
  const { command, args, cwd, env } = config
  return {
    command: mask(command),
    args: args.map(mask),
    env: Object.keys(env),
    ...withoutUndefined({
      cwd: cwd === undefined ? undefined : mask(cwd),
      per: config.kind === 'stdio' ? config.per : undefined,
    }),
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

function findServer({ fleet }: AdminContext, id: string): Upstream {
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
