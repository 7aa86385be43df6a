import { createRoute, z } from '@hono/zod-openapi'
import { formatHostRule, type HostRule, NETWORK_MODES, type NetworkMode, parseOwnerKey } from '@sallyport/core'
import type { OpenSandboxFacts } from '../../sandbox/sandbox.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'

const mode = z.enum(NETWORK_MODES)

const processSchema = z.object({
  user: z.string().optional().openapi({ description: 'Whose session it serves; missing if it serves none.' }),
  session: z.string().optional(),
  driver: z.string(),
  mode: mode.openapi({ description: 'What its session allows. It never becomes wider.' }),
  since: z.iso.datetime(),
  reaches: z.array(z.string()).openapi({ description: 'What it can reach now; empty if nothing.' }),
})

const serverSchema = z
  .object({
    server: z.string(),
    network: z.enum(['brokered', 'host', 'none']).optional().openapi({
      description:
        '`brokered`: by the label of the session; `host`: the same, with the network of this machine in `FULL`; `none`: never any. Missing if it is not in a sandbox.',
    }),
    processes: z.array(processSchema).openapi({ description: 'One for each session, and one for no session.' }),
    reason: z.string().optional().openapi({ description: 'Why it is not in a sandbox, or why no process runs.' }),
  })
  .openapi('SandboxedServer')

const listSchema = z.object({
  allow: z.array(z.string()).openapi({ description: 'The hosts that private data may reach.' }),
  servers: z.array(serverSchema),
})

export type SandboxedServerView = z.infer<typeof serverSchema>
export type SandboxListView = z.infer<typeof listSchema>

const listRoute = createRoute({
  method: 'get',
  path: '/sandboxes',
  summary: 'Which servers run in a sandbox, and what each process can reach now',
  responses: { 200: jsonResponse(listSchema, 'All servers with an entry.'), ...PROBLEM_RESPONSES },
})

export const sandboxRoutes = (context: AdminContext) =>
  createRoutes().openapi(listRoute, async (c) => {
    await context.fleet.waitUntilConfigured()
    const { allow } = context.settings.labels
    const open = context.sandboxes.list()
    const servers = context.fleet
      .all()
      .filter(({ config }) => config.kind !== 'built-in')
      .map((upstream) => toView(upstream, { open, allow }))
    return c.json({ allow: allow.map(formatHostRule), servers }, 200)
  })

interface Facts {
  readonly open: readonly OpenSandboxFacts[]
  readonly allow: readonly HostRule[]
}

function toView({ config, status }: Upstream, { open, allow }: Facts): SandboxedServerView {
  const { id: server } = config
  if (config.kind !== 'stdio' || config.sandbox === undefined)
    return { server, processes: [], reason: whyNotSandboxed(config.kind) }
  const processes = open
    .filter((one) => one.server === server)
    .map(({ session, driver, mode: current, hasHostNetwork, since }) => ({
      ...(session !== undefined && nameSession(session)),
      ...{ driver, mode: current, since: new Date(since).toISOString() },
      reaches: hasHostNetwork ? ['what this machine reaches'] : [...listReached(current, allow)],
    }))
  if (config.sandbox.driver === 'none') return { server, processes, reason: REFUSES_SANDBOX }
  const { network } = config.sandbox
  if (processes.length > 0) return { server, network, processes }
  const { state, reason } = status()
  return { server, network, processes, reason: reason ?? `It is ${state}, and no process runs.` }
}

const REFUSES_SANDBOX =
  'Its entry refuses the sandbox of all others (allow_unsandboxed): it runs only for sessions without private data.'

function nameSession(owner: string): { readonly user: string; readonly session: string } {
  const { user, session } = parseOwnerKey(owner)
  return { user, session }
}

function whyNotSandboxed(kind: Upstream['config']['kind']): string {
  if (kind === 'stdio') return 'Its entry asks for no sandbox: it reaches what this machine reaches.'
  if (kind === 'docker-gateway') return 'The Docker MCP Gateway runs its servers in containers of its own.'
  return 'It is not started by the gateway. A url_isolated gives private data another instance.'
}

function listReached(current: NetworkMode, allow: readonly HostRule[]): readonly string[] {
  if (current === 'NONE') return []
  const listed = allow.map(formatHostRule)
  return current === 'FULL' ? ['public addresses', ...listed] : listed
}
