import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { isLoopback, type Principal, SallyportError } from '@sallyport/core'
import { findAdapter } from '../agents/agents.ts'
import {
  agentSlug,
  DEFAULT_VARIANT,
  findUserHome,
  narrowPrincipal,
  type Profiles,
  ProfilesEditor,
  ServersEditor,
} from '../config/config.ts'
import { MAIN_FILE } from '../package-root.ts'
import {
  type AdminContext,
  AGENT_HEADER,
  createAdmin,
  type GatewaySocket,
  type HttpListener,
  LineClient,
  openGatewaySocket,
  openHttpServer,
  type Routes,
  RunConnection,
  SOCKET_PROTOCOLS,
  toProblem,
} from '../serve/serve.ts'
import { readBearerToken, standingPrincipal, watchToken } from '../sessions/sessions.ts'
import type { GatewayStats } from '../telemetry/telemetry.ts'
import { VERSION } from '../version.ts'
import type { Gateway } from './gateway.ts'
import { createSessionControl } from './session-control.ts'

export interface PortOptions {
  readonly host: string
  readonly port: number
  /** Everybody who connects acts as the local agent. For experiments, on loopback only. */
  readonly noAuth: boolean
}

/** The entry points of a gateway: its own socket, and HTTP ports. Counts connections, and reports when the last one closed. */
export class EntryPoints {
  readonly #gateway: Gateway
  readonly #onBug: Routes['onBug']
  readonly #listeners = new Set<HttpListener>()
  readonly #context: AdminContext
  readonly #admin: Routes['admin']
  #socket: GatewaySocket | undefined
  #connections = 0
  #closing = false
  #onIdle: (() => void) | undefined

  constructor(gateway: Gateway, onBug: Routes['onBug']) {
    this.#gateway = gateway
    this.#onBug = onBug
    this.#context = createAdminContext(gateway, () => this.urls())
    this.#admin = createAdmin(this.#context)
    gateway.governance.approvalChannels.setUrls(() => this.urls())
  }

  urls(): readonly string[] {
    return [...this.#listeners].map(({ url }) => url)
  }

  /** Calls back when there are no connections, now or later. */
  whenIdle(onIdle: () => void): void {
    this.#onIdle = onIdle
    if (this.#connections === 0) onIdle()
  }

  get isIdle(): boolean {
    return this.#connections === 0
  }

  async openSocket(): Promise<void> {
    this.#socket = await openGatewaySocket({
      state: this.#gateway.state,
      checkCaller: (request) => this.#checkHome(request) ?? this.#checkWindow(request),
      onRequest: (request, response) =>
        void this.#admin(request, response, standingPrincipal('operator')).catch((error) =>
          this.#reportBug(error, response),
        ),
      onLines: (stream, request) => this.#serveLines(stream, request),
      onPort: (stream, request) => void this.#openSharedPort(stream, request),
      onRun: (stream, request) => this.#holdRun(stream, request),
    })
  }

  async openPort(wanted: PortOptions): Promise<HttpListener> {
    const { httpMcp: mcp, settings } = this.#gateway
    checkRemoteAccess(wanted, settings.gateway.allowRemote)
    const { host, port, noAuth } = wanted
    const { allowedHosts, allowedOrigins } = settings.gateway
    const policy = noAuth ? 'none' : 'required'
    const listener = await openHttpServer({
      mcp,
      authenticator: () => this.#gateway.gatekeeper.authenticatorFor(policy),
      failures: this.#gateway.failures,
      admin: this.#admin,
      narrow: (principal, profile) => {
        const own = this.#gateway.ended.renew(principal)
        return profile === undefined ? own : narrowPrincipal(this.#gateway.settings.profiles, own, profile)
      },
      watch: (authorization, onEnd) => this.#watchToken(authorization, onEnd),
      readiness: () => this.#gateway.readiness,
      publishKeys: () => this.#gateway.publishKeys(),
      onBug: this.#onBug,
      host,
      port,
      allowedHosts,
      allowedOrigins,
    })
    const opened: HttpListener = {
      url: listener.url,
      close: async () => {
        this.#listeners.delete(opened)
        await listener.close()
      },
    }
    this.#listeners.add(opened)
    return opened
  }

  async close(): Promise<void> {
    this.#onIdle = undefined
    this.#closing = true
    await Promise.all([...this.#listeners].map((listener) => listener.close()))
    await this.#socket?.close()
  }

  /** One state belongs to one home: a program that uses another home must not get answers from this one. */
  #checkHome(request: IncomingMessage): SallyportError | undefined {
    const theirs = decoded(String(request.headers['x-sallyport-home'] ?? ''))
    const { path } = this.#gateway.home
    if (theirs === '' || theirs === path) return undefined
    return new SallyportError(
      'STATE_HELD',
      `The gateway of this state (pid ${process.pid}) serves the home ${path}, not ${theirs}.`,
      {
        hint: 'Give each home a state of its own with --state, or stop the other gateway.',
      },
    )
  }

  #checkWindow(request: IncomingMessage): SallyportError | undefined {
    if (request.headers.upgrade !== SOCKET_PROTOCOLS.lines) return undefined
    const principal = this.#identifyWindow(request)
    if (!(principal instanceof SallyportError)) return undefined
    if (principal.code === 'UNAUTHENTICATED') this.#gateway.failures.count(undefined, 'token')
    return principal
  }

  /** A caller on the socket is the local agent, unless its token names another principal. The agent it names can only narrow that. */
  #identifyWindow({ headers }: IncomingMessage): Principal | SallyportError {
    const principal = this.#principalOf(headers.authorization)
    if (principal === undefined)
      return new SallyportError('UNAUTHENTICATED', 'The token of this window is unknown, or no longer valid.', {
        hint: 'A token of `sallyport run` ends with its run. For other windows, create one with `sallyport connect`.',
      })
    const named = headers[AGENT_HEADER]
    return named === undefined ? principal : narrowToAgent(this.#gateway.settings.profiles, principal, String(named))
  }

  #principalOf(authorization: string | undefined): Principal | undefined {
    if (authorization === undefined) return this.#gateway.ended.renew(standingPrincipal('agent'))
    const principal = this.#gateway.tokens.verify(readBearerToken(authorization))?.principal
    // Line connections carry MCP only: a token of an operator, which is for the admin plane, is not accepted here.
    return principal?.role === 'agent' ? this.#gateway.ended.renew(principal) : undefined
  }

  /** Only local tokens are watched: a JWT cannot be revoked. */
  #watchToken(authorization: string, onEnd: () => void): () => void {
    const { tokens } = this.#gateway
    const token = readBearerToken(authorization)
    return tokens.verify(token) === undefined ? () => {} : watchToken(tokens, token, onEnd)
  }

  #serveLines(stream: Duplex, request: IncomingMessage): void {
    const { authorization } = request.headers
    const principal = this.#identifyWindow(request)
    if (principal instanceof SallyportError) return void stream.destroy()
    const { methods, hub, bodies, settings, onConversation } = this.#gateway
    const client = new LineClient({
      stream,
      principal,
      methods,
      hub,
      maxMessageBytes: settings.gateway.maxBodyBytes,
      bodies,
      onConversation,
    })
    this.#connections++
    const unwatch =
      authorization === undefined
        ? () => {}
        : watchToken(this.#gateway.tokens, readBearerToken(authorization), () => stream.destroy())
    void client.serve().finally(() => {
      unwatch()
      this.#disconnected()
    })
  }

  /** A `serve` that found this gateway running gets its port for as long as it stays connected. */
  async #openSharedPort(stream: Duplex, request: IncomingMessage): Promise<void> {
    this.#connections++
    stream.once('close', () => this.#disconnected())
    // If nobody reads the stream, its end is never seen.
    stream.once('end', () => stream.end()).resume()
    try {
      const { host, port } = this.#gateway.settings.gateway
      const wanted = JSON.parse(decodeURIComponent(String(request.headers['x-sallyport-port']))) as Partial<PortOptions>
      const listener = await this.openPort({ host, port, noAuth: false, ...wanted })
      if (stream.destroyed) return void listener.close()
      stream.once('close', () => void listener.close())
      stream.write(`${JSON.stringify({ url: listener.url, login: this.#gateway.logins.mintLoginCode() })}\n`)
    } catch (error) {
      const problem = error instanceof SallyportError ? error : new SallyportError('INTERNAL', String(error))
      stream.end(`${JSON.stringify(toProblem(problem))}\n`)
    }
  }

  /** A `run`: the gateway stays open until the run ends. Its tokens end with the run, however it ends. */
  #holdRun(stream: Duplex, request: IncomingMessage): void {
    this.#connections++
    const tokens = String(request.headers['x-sallyport-token'] ?? '')
      .split(' ')
      .filter((id) => id !== '')
    const run = new RunConnection({ stream, context: this.#context, tokens })
    stream.once('close', () => {
      // If the gateway closes, the run continues: the next gateway finds its tokens again.
      if (!this.#closing) void run.end()
      this.#disconnected()
    })
  }

  #disconnected(): void {
    this.#connections--
    if (this.#connections === 0) this.#onIdle?.()
  }

  #reportBug(error: unknown, response: ServerResponse): void {
    this.#onBug(error, 'the admin plane')
    response.destroy()
  }
}

/** An address that other machines can reach needs the same consent, whether it comes from the config or from a flag. */
function checkRemoteAccess({ host, noAuth }: PortOptions, allowRemote: boolean): void {
  if (isLoopback(host)) return
  if (noAuth)
    throw new SallyportError('USAGE', `--no-auth would let everybody who reaches ${host} use every tool.`, {
      hint: 'It works on 127.0.0.1 only.',
    })
  if (!allowRemote)
    throw new SallyportError(
      'USAGE',
      `${host} can be reached from other machines, and the connection is not encrypted.`,
      {
        hint: 'Use 127.0.0.1, or write `gateway: {allow_remote: true}` in config.yaml if a TLS proxy and tokens protect it.',
      },
    )
}

/** The parts of a gateway that the admin plane may use. */
export function createAdminContext(gateway: Gateway, urls: () => readonly string[]): AdminContext {
  const { home, state, startedAt, catalog, listings, pipeline, gauge, fleet } = gateway
  const { sessions, bodies, store, tokens, logins, failures, governance, ids, sandboxes } = gateway
  const { environment } = governance
  return {
    version: VERSION,
    ...{ home, state, startedAt, catalog, listings, pipeline, gauge, fleet },
    ...{ sessions, bodies, store, tokens, logins, failures, ids, sandboxes },
    mode: governance.modes.state,
    review: governance.review,
    tools: governance.tools,
    replay: async (request) => (await import('./replay-rules.ts')).replayRules(gateway, request),
    replayCall: async (record) => (await import('./replay-rules.ts')).replayCall(gateway, record),
    results: gateway.sessionResults,
    approving: governance.approvalChannels,
    profiles: new ProfilesEditor({ home, state, onWritten: (profiles) => gateway.applyProfiles(profiles) }),
    servers: new ServersEditor({ home, state, environment }),
    environment,
    mainFile: MAIN_FILE,
    host: { environment, platform: process.platform, home: findUserHome(environment), cwd: process.cwd() },
    get settings() {
      return gateway.settings
    },
    urls,
    record: (event) => gateway.record(event),
    control: createSessionControl({
      ...{
        labels: governance.labels,
        records: store.labels,
        ended: gateway.ended,
        sessionResults: gateway.sessionResults,
        purges: gateway.purges,
      },
      narrowing: (owner) => gateway.sandboxes.ending(owner),
      endPrograms: (owner) => gateway.sandboxes.endSession(owner),
      record: (event) => governance.recordSynced(event),
    }),
    renewSession: (principal) => gateway.ended.renew(principal),
    metrics: (accept) => gateway.telemetry.expose(() => collectStats(gateway), accept),
  }
}

/** Limits a window to the agent and profile that it names: `claude-code`, `claude-code.reviewer`. A misspelt agent is an error. */
function narrowToAgent(profiles: Profiles, principal: Principal, header: string): Principal | SallyportError {
  const [, name = '', variant = DEFAULT_VARIANT] = /^([^.]*)(?:\.(.*))?$/s.exec(decoded(header)) ?? []
  const isInProfiles = [...profiles.values()].some(({ agent }) => agent === agentSlug(name))
  try {
    const agent = isInProfiles ? name : findAdapter(name).id
    return narrowPrincipal(profiles, principal, { agent, variant })
  } catch (error) {
    if (error instanceof SallyportError) return error
    throw error
  }
}

/** Invalid encoding cannot be a home path either: it is compared and shown unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The current values of the gateway's metrics. */
function collectStats({ fleet, gauge, governance, sessions, store, failures }: Gateway): GatewayStats {
  const enabled = fleet
    .all()
    .flatMap((upstream) => [upstream.status(), ...(upstream.counterpart ? [upstream.counterpart.status()] : [])])
    .filter(({ state }) => state !== 'disabled')
  return {
    callsInFlight: gauge.inFlight,
    sessions: sessions.size,
    // A stopped server counts as up: it starts with the next call.
    upstreams: enabled.map(({ id, state, dropped, health }) => ({
      id,
      isUp: state === 'ready' || state === 'stopped',
      dropped,
      isHealthy: health?.isHealthy,
    })),
    auditFailures: store.log.failures,
    credentialsRefused: failures.totals,
    mode: governance.rules.modeState().mode,
    approvalsPending: governance.approvals.pending.length,
  }
}
