import { didYouMean, type NetworkMode, SallyportError } from '@sallyport/core'
import { loadSettings, requireTrust, type ServerConfig, type Settings } from '../../config/config.ts'
import {
  type DeployedServer,
  exportCompose,
  exportEnvoy,
  exportKubernetes,
  exportSquid,
} from '../../sandbox/export/export.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createScreen } from '../terminal/screen.ts'
import { visibleLine } from '../terminal/terminal-text.ts'
import type { ExportFlags } from './export-formats.ts'

type Flags = ExportFlags & GlobalFlags

/** Prints the policy of the home as a file for a deployment. Nothing is started, and no gateway is needed. */
export async function exportPolicy(context: CliContext, flags: Flags): Promise<void> {
  const screen = createScreen(context, flags)
  const found = await findHome(context, flags)
  await requireTrust(found)
  const { home, content } = found
  const { settings } = await loadSettings({ home: home.path, environment: context.environment, content })
  const { text, notes } = build(settings, flags)
  if (screen.json) return screen.printJson({ format: flags.to, text, notes })
  screen.print(text)
  for (const note of notes) screen.printMessage(`! ${visibleLine(note)}`)
}

interface Exported {
  readonly text: string
  readonly notes: readonly string[]
}

function build(settings: Settings, flags: Flags): Exported {
  const { allow } = settings.labels
  const empty = allow.length > 0 ? [] : ['sandbox.proxied.allow is empty, so network mode PROXIED reaches nobody.']
  if (flags.to === 'squid' || flags.to === 'envoy') {
    refuseDeploymentFlags(flags)
    const text =
      flags.to === 'squid'
        ? exportSquid(allow, { listen: '127.0.0.1', isContainer: false })
        : exportEnvoy(allow, '127.0.0.1')
    return { text, notes: empty }
  }
  const servers = chooseServers(settings.servers, flags)
  const usesList = servers.some(({ modes }) => modes.includes('PROXIED'))
  const deployment = { allow, servers }
  const text = flags.to === 'k8s' ? exportKubernetes(deployment) : exportCompose(deployment)
  const notes = [...describeHostNetworks(settings.servers, servers), ...describeLeftOut(settings.servers, servers)]
  return { text, notes: [...(usesList ? empty : []), ...notes] }
}

function refuseDeploymentFlags({ to, server, image, isolated }: Flags): void {
  const given = Object.entries({ server, image, isolated }).find(([, value]) => value !== undefined)
  if (given === undefined) return
  throw new SallyportError('USAGE', `--${given[0]} has no effect with --to ${to}.`, {
    hint: `The configuration of ${to} is the same for all servers. Use --to docker-compose or --to k8s to deploy servers.`,
  })
}

/** Those that have an image: nothing in the configuration says how to deploy the others. */
function chooseServers(servers: readonly ServerConfig[], flags: Flags): readonly DeployedServer[] {
  const images = readImages(flags.image ?? [], servers)
  if (flags.server !== undefined) requireServer(servers, flags.server)
  const wanted = flags.server === undefined ? [...images.keys()] : [flags.server]
  const chosen = servers.filter(({ id }) => wanted.includes(id))
  const withoutImage = chosen.find(({ id }) => !images.has(id))
  if (withoutImage !== undefined || chosen.length === 0) throw missingImage(withoutImage?.id, servers)
  const deployed = chosen.map((config) => toDeployed(config, images.get(config.id) ?? '', flags.isolated ?? 'NONE'))
  requireOwnNames(deployed)
  return deployed
}

/** Names of services that are not servers. */
const RESERVED = ['egress-proxy', 'egress-proxied', 'egress-full']
const ENDINGS = ['', '-isolated'].flatMap((instance) =>
  ['', '-ingress', '-egress', '-front'].map((part) => instance + part),
)

function requireOwnNames(servers: readonly DeployedServer[]): void {
  const taken = new Set(RESERVED)
  for (const { name, server } of servers)
    for (const ending of ENDINGS) {
      if (taken.has(name + ending))
        throw new SallyportError(
          'USAGE',
          `The service ${name}${ending} of the server "${server}" has a name that is taken.`,
          {
            hint: 'Give the server another name in config.yaml, or export it alone with --server.',
          },
        )
      taken.add(name + ending)
    }
}

function missingImage(server: string | undefined, servers: readonly ServerConfig[]): SallyportError {
  const example = server ?? servers[0]?.id ?? 'files'
  return new SallyportError(
    'USAGE',
    `A deployment needs the image of ${server === undefined ? 'each server' : `"${server}"`}.`,
    {
      hint: `Add --image ${example}=registry.example/${toName(example)}:1.0. The image must serve MCP over HTTP.`,
    },
  )
}

const IMAGE = /^[a-zA-Z0-9][\w.:/@-]{0,254}$/

function readImages(written: readonly string[], servers: readonly ServerConfig[]): ReadonlyMap<string, string> {
  const images = new Map<string, string>()
  for (const each of written) {
    const at = each.indexOf('=')
    const [server, image] = [each.slice(0, Math.max(at, 0)), each.slice(at + 1)]
    if (at === -1 || !IMAGE.test(image))
      throw new SallyportError('USAGE', `"${each.slice(0, 300)}" is not a valid image of a server.`, {
        hint: 'Write the server and its image: --image files=registry.example/files:1.0.',
      })
    requireServer(servers, server)
    if (images.has(server)) throw new SallyportError('USAGE', `--image names "${server}" more than once.`)
    images.set(server, image)
  }
  return images
}

function requireServer(servers: readonly ServerConfig[], id: string): void {
  if (servers.some((server) => server.id === id)) return
  const shown = id.slice(0, 100)
  throw new SallyportError(
    'SERVER_UNKNOWN',
    `There is no server ${JSON.stringify(shown)}.${didYouMean(
      shown,
      servers.map((server) => server.id),
    )}`,
    { hint: 'See config.yaml for all of them.' },
  )
}

const DEFAULT_PORT = 8_000

function toDeployed(config: ServerConfig, image: string, isolated: NetworkMode): DeployedServer {
  const { id: server } = config
  const common = { server, name: toName(server), image }
  if (config.kind === 'docker-gateway')
    throw new SallyportError('USAGE', `"${server}" is the Docker MCP Gateway, which starts containers of its own.`, {
      hint: 'Docker’s own options limit their networks: docs/docker-gateway.md.',
    })
  if (config.kind === 'stdio') {
    const modes: readonly NetworkMode[] = config.sandbox?.network === 'none' ? ['NONE'] : ['FULL', isolated]
    return { ...common, port: DEFAULT_PORT, path: '/mcp', env: Object.keys(config.env), modes }
  }
  const { port, pathname } = new URL(config.url)
  return { ...common, port: Number(port) || DEFAULT_PORT, path: pathname, env: [], modes: ['FULL', isolated] }
}

const MAX_NAME = 40

/** A name of DNS, with room for endings. */
function toName(server: string): string {
  const plain = server.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  const name = plain.slice(0, MAX_NAME).replaceAll(/^-+|-+$/g, '')
  return /^[a-z]/.test(name) ? name : `server-${name}`.replace(/-$/, '')
}

function describeHostNetworks(all: readonly ServerConfig[], deployed: readonly DeployedServer[]): readonly string[] {
  const found = all.filter(
    (config) =>
      config.kind === 'stdio' &&
      config.sandbox?.network === 'host' &&
      deployed.some(({ server }) => server === config.id),
  )
  const names = found.map(({ id }) => id).join(', ')
  return names === '' ? [] : [`"network: host" is not exported: its instance in FULL has the proxy only (${names}).`]
}

function describeLeftOut(all: readonly ServerConfig[], deployed: readonly DeployedServer[]): readonly string[] {
  const left = all.filter(({ id }) => !deployed.some(({ server }) => server === id)).map(({ id }) => id)
  return left.length === 0 ? [] : [`Not exported, since no --image names them: ${left.join(', ')}.`]
}
