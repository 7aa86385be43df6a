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

/** Serves on a port until it is told to stop: as the gateway, or through the one that runs already. */
export async function servePort(context: CliContext, flags: Flags): Promise<void> {
  // Asked for first of all: from here on Ctrl-C and SIGTERM end it in order.
  const { signal } = context
  for (const until = performance.now() + JOIN_TIMEOUT_MS; !signal.aborted; await delay(JOIN_RETRY_MS)) {
    const onOpen = async (doors: EntryPoints, gateway: Gateway): Promise<void> => {
      await doors.openPort(resolvePort(flags, gateway.settings.gateway))
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

/** An agent waits for its first list, and calls something later if at all. */
const servingOptions = ({ process }: CliContext): EntryPointsOptions => ({
  onNotice: (text) => void process.stderr.write(`${text}\n`),
  startServers: 'calm',
})

function resolvePort(flags: Flags, settings: { readonly host: string; readonly port: number }): PortOptions {
  return { host: flags.host ?? settings.host, port: flags.port ?? settings.port, noAuth: flags['no-auth'] === true }
}

/** Only what was asked for: the rest is as the gateway's own home says. */
function portHeaders({ host, port, 'no-auth': noAuth = false }: Flags): Readonly<Record<string, string>> {
  return { 'x-sallyport-port': encodeURIComponent(JSON.stringify({ host, port, noAuth })) }
}

/** Another window's gateway has the state: it lends us a port for as long as we stay. */
async function serveBorrowedPort(
  lender: Duplex,
  context: CliContext,
  what: Omit<Banner, 'url' | 'login'>,
): Promise<void> {
  const lost = once(lender, 'close').then(() => 'lost' as const)
  const told = waitForAbort(context.signal).then(() => 'told' as const)
  const answer = await Promise.race([once(lender, 'data'), lost, told])
  if (Array.isArray(answer))
    context.process.stdout.write(formatBanner({ ...parseLentPort(String(answer[0])), ...what }))
  const ended = await Promise.race([told, lost])
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

/** Serves the windows that join over the socket, and ends a while after the last one left. */
export async function serveBackground(context: CliContext, flags: Flags): Promise<{ readonly done: Promise<void> }> {
  const told = waitForAbort(context.signal).then(() => 'it was told to stop')
  const { gateway, entryPoints, close } = await openWithEntryPoints(context, flags, servingOptions(context))
  const left = waitUntilEmpty(entryPoints, () => gateway.settings.gateway.linger)
  return { done: Promise.race([left, told]).then(close) }
}

/** Whoever started the gateway has yet to come through the door: that takes longer than a short `linger`. */
function waitUntilEmpty(doors: EntryPoints, linger: () => number): Promise<string> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    let least = JOIN_TIMEOUT_MS
    doors.whenIdle(() => {
      clearTimeout(timer)
      timer = setTimeout(() => doors.isIdle && resolve('the last window left'), Math.max(linger(), least))
      least = 0
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

/** What a person needs next: the page, and the line that connects an agent. No credential stands in that line. */
function formatBanner({ url, login, home, state, flags }: Banner): string {
  if (flags.json) return `${JSON.stringify({ url: `${url}/mcp`, ui: `${url}/login?token=${login}`, home, state })}\n`
  const agent = ['node', MAIN_FILE, 'serve', '--stdio', '--home', home, '--state', state].map(quoteForShell).join(' ')
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
