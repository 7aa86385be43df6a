import { once } from 'node:events'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { quoteForShell, SallyportError } from '@sallyport/core'
import type { EntryPoints, PortOptions } from '../../compose/entry-points.ts'
import type { Gateway } from '../../compose/gateway.ts'
import { MAIN_FILE } from '../../package-root.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome } from '../find-home.ts'
import { connectToGateway, JOIN_RETRY_MS, JOIN_TIMEOUT_MS, parseErrorReply } from '../gateway/gateway-connection.ts'
import { type EntryPointsOptions, type OpenGateway, openWithEntryPoints } from '../gateway/open-with-entry-points.ts'
import { ignoreIfLocked } from '../gateway/with-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import type { ServeFlags } from './serve-command.ts'

type Flags = ServeFlags & GlobalFlags

/** Serves on a port until it is stopped: as the gateway, or through the one that runs already. */
export async function servePort(context: CliContext, flags: Flags): Promise<void> {
  // Read first: from here on, Ctrl-C and SIGTERM shut down cleanly.
  const { signal } = context
  for (const until = performance.now() + JOIN_TIMEOUT_MS; !signal.aborted; await delay(JOIN_RETRY_MS)) {
    const onOpen = async (entryPoints: EntryPoints, gateway: Gateway): Promise<void> => {
      await entryPoints.openPort(resolvePort(flags, gateway.settings.gateway))
    }
    const opened = await openWithEntryPoints(context, flags, { onOpen, ...servingOptions(context) }).catch(
      ignoreIfLocked,
    )
    if (opened) return serveOwnGateway(context, flags, opened)
    const { home, state } = await findHome(context, flags)
    const lender = await connectToGateway('port', { state, home: home.path, headers: portHeaders(flags) })
    if (lender) return serveBorrowedPort(lender, context, { flags, home: home.path, state })
    if (performance.now() > until)
      throw new SallyportError('GATEWAY_UNREACHABLE', `A gateway holds the state ${state} and does not answer.`, {
        hint: 'Try again, or stop it.',
      })
  }
}

async function serveOwnGateway(context: CliContext, flags: Flags, opened: OpenGateway): Promise<void> {
  const { gateway, entryPoints, close } = opened
  const { logins, state, home } = gateway
  const [url = ''] = entryPoints.urls()
  context.process.stdout.write(formatBanner({ url, login: logins.mintLoginCode(), state, home: home.path, flags }))
  await waitForAbort(context.signal)
  await close('it was told to stop')
}

/** An agent waits for its first list of tools, and calls a tool only later, if at all. */
const servingOptions = ({ process }: CliContext): EntryPointsOptions => ({
  onNotice: (text) => void process.stderr.write(`${text}\n`),
  startServers: 'calm',
})

function resolvePort(flags: Flags, settings: { readonly host: string; readonly port: number }): PortOptions {
  return { host: flags.host ?? settings.host, port: flags.port ?? settings.port, noAuth: flags['no-auth'] === true }
}

/** Only the given flags: the rest comes from the config of the running gateway. */
function portHeaders({ host, port, 'no-auth': noAuth = false }: Flags): Readonly<Record<string, string>> {
  return { 'x-sallyport-port': encodeURIComponent(JSON.stringify({ host, port, noAuth })) }
}

/** The gateway of another window holds the state: it opens a port for as long as this process runs. */
async function serveBorrowedPort(
  lender: Duplex,
  context: CliContext,
  banner: Omit<Banner, 'url' | 'login'>,
): Promise<void> {
  const lost = once(lender, 'close').then(() => 'lost' as const)
  const stopped = waitForAbort(context.signal).then(() => 'stopped' as const)
  const answer = await Promise.race([once(lender, 'data'), lost, stopped])
  if (Array.isArray(answer))
    context.process.stdout.write(formatBanner({ ...parseLentPort(String(answer[0])), ...banner }))
  const ended = await Promise.race([stopped, lost])
  lender.destroy()
  if (ended === 'lost')
    throw new SallyportError('GATEWAY_UNREACHABLE', 'The gateway that lent this port has ended.', {
      hint: 'Start it again.',
    })
}

function parseLentPort(text: string): Pick<Banner, 'url' | 'login'> {
  const { url, login, error } = JSON.parse(text) as Pick<Banner, 'url' | 'login'> & { readonly error?: unknown }
  if (error) throw parseErrorReply(text)
  return { url, login }
}

/** Serves the windows that join over the socket, and ends some time after the last one has left. */
export async function serveBackground(context: CliContext, flags: Flags): Promise<{ readonly done: Promise<void> }> {
  const stopped = waitForAbort(context.signal).then(() => 'it was told to stop')
  const { gateway, entryPoints, close } = await openWithEntryPoints(context, flags, servingOptions(context))
  const left = waitUntilEmpty(entryPoints, () => gateway.settings.gateway.linger)
  return { done: Promise.race([left, stopped]).then(close) }
}

/** The window that started the gateway still has to join, which may take longer than a short `linger`. */
function waitUntilEmpty(entryPoints: EntryPoints, linger: () => number): Promise<string> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    let minMs = JOIN_TIMEOUT_MS
    entryPoints.whenIdle(() => {
      clearTimeout(timer)
      timer = setTimeout(() => entryPoints.isIdle && resolve('the last window left'), Math.max(linger(), minMs))
      minMs = 0
    })
  })
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

interface Banner {
  readonly url: string
  readonly login: string
  readonly home: string
  readonly state: string
  readonly flags: ServeFlags & GlobalFlags
}

/**
 * What a person needs next: the web page, and the command that connects an agent. That command contains no credential.
 */
function formatBanner({ url, login, home, state, flags }: Banner): string {
  if (flags.json) return `${JSON.stringify({ url: `${url}/mcp`, ui: `${url}/login?token=${login}`, home, state })}\n`
  const window = ['node', MAIN_FILE, 'serve', '--stdio', '--agent', 'claude-code', '--home', home, '--state', state]
  const agent = window.map(quoteForShell).join(' ')
  const http = flags['no-auth']
    ? 'no token is asked for: everybody on this machine can use the tools'
    : `Authorization: Bearer $(cat ${quoteForShell(join(state, 'tokens', 'agent'))})`
  return [
    '',
    `  Sallyport serves ${home}`,
    '',
    `  Web page       ${url}/login?token=${login}`,
    `  MCP over HTTP  ${url}/mcp   (${http})`,
    `  Claude Code    claude mcp add gw -- ${agent}`,
    '',
    '  Ctrl-C stops it.',
    '',
    '',
  ].join('\n')
}
