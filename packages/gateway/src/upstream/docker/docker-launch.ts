import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { DOCKER_ENVIRONMENT, formatDuration, listSecretForms, SallyportError } from '@sallyport/core'
import { collectSecrets, type DockerGatewayConfig, type HttpServerConfig } from '../../config/config.ts'
import { StreamableHttpTransport } from '../http/http.ts'
import { openProcessGroup, type ProcessGroup } from '../processes/processes.ts'
import {
  buildChildEnvironment,
  describeExit,
  describeLoss,
  readFairly,
  StdioTransport,
  type StdioTransportOptions,
  spawnFailure,
} from '../stdio/stdio.ts'
import type { EncodedRequest, Transport, TransportEvents } from '../transport.ts'
import { explainDockerFailure } from './docker-failure.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * How long a start may take. The first one may have to fetch images, so `timeouts.startup` only limits how long calls
 * wait for it: a start that is killed and begun again would never end.
 */
const MAX_START_MS = 600_000

/** The parts that are the same for every start of a Docker MCP Gateway. */
export interface DockerLaunch {
  /** The token that its streaming transport expects from us. */
  readonly token: string
  /** Secrets that must not be shown, whoever writes them. */
  readonly secrets: readonly string[]
  readonly startTimeoutMs: number
  readonly createTransport: (run: DockerRun) => Transport
}

export function prepareDockerLaunch(config: DockerGatewayConfig, environment: Environment): DockerLaunch {
  const given = { ...pickEnvironment(environment), ...config.env }
  const token = given.MCP_GATEWAY_AUTH_TOKEN || randomBytes(32).toString('hex')
  const env = config.transport === 'stdio' ? given : { ...given, MCP_GATEWAY_AUTH_TOKEN: token }
  const launched = { ...config, env }
  const startTimeoutMs = Math.max(MAX_START_MS, config.timeouts.startup)
  return {
    token,
    secrets: listSecretForms([...collectSecrets(config), token]),
    startTimeoutMs,
    createTransport: (run) =>
      config.transport === 'stdio'
        ? new StdioTransport({ ...run, config: launched, explain: explainDockerFailure })
        : new StreamingTransport({ ...run, config: launched, token, startTimeoutMs }),
  }
}

function pickEnvironment(environment: Environment): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const name of DOCKER_ENVIRONMENT) {
    const value = environment[name]
    if (value !== undefined) picked[name] = value
  }
  return picked
}

/** What one run of a Docker MCP Gateway needs, over any transport. */
type DockerRun = Pick<StdioTransportOptions, 'environment' | 'mark' | 'watchdog' | 'stderr'>

interface StreamingTransportOptions extends DockerRun {
  readonly config: DockerGatewayConfig
  /** The token that the process accepts; it is in its environment too. */
  readonly token: string
  readonly startTimeoutMs: number
}

/** It does not read its stdin, so closing it has no effect; its containers take a while to stop. */
const GRACE_PERIODS = { afterInputEnds: 0, afterTerminate: 5_000 } as const

/** A Docker MCP Gateway that runs as our child process and is reached over HTTP, on a local port only. */
class StreamingTransport implements Transport {
  readonly #options: StreamingTransportOptions
  /** Aborted if we are closed while it starts, or if it exits. */
  readonly #starting = new AbortController()
  #opening: Promise<StreamableHttpTransport> | undefined
  #group: ProcessGroup | undefined
  #http: StreamableHttpTransport | undefined
  /** Why it is gone; `undefined` while it runs. */
  #lostReason: string | undefined
  #closing: Promise<void> | undefined

  constructor(options: StreamingTransportOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#group?.exit === undefined ? this.#group?.pid : undefined
  }

  async open(events: TransportEvents): Promise<void> {
    if (this.#closing !== undefined || this.#opening !== undefined)
      throw new SallyportError('INTERNAL', 'A transport was opened twice, or after it was closed.')
    this.#opening = this.#start(events)
    this.#http = await this.#opening
  }

  request(request: EncodedRequest): void {
    this.#http?.request(request)
  }

  send(text: string, waiting?: number): void {
    this.#http?.send(text, waiting)
  }

  abandon(id: number): boolean {
    return this.#http?.abandon(id) ?? false
  }

  setProtocolVersion(protocolVersion: string): void {
    this.#http?.setProtocolVersion(protocolVersion)
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    this.#starting.abort()
    const http = await this.#opening?.catch(() => undefined)
    await http?.close()
    await this.#group?.end()
  }

  async #start(events: TransportEvents): Promise<StreamableHttpTransport> {
    const { config } = this.#options
    const port = await findFreePort(config.port, config.id)
    this.#starting.signal.throwIfAborted()
    const group = await this.#launch(port)
    this.#group = group
    this.#watch(group, events)
    await this.#waitUntilHealthy(port)
    const http = new StreamableHttpTransport({ config: this.#buildHttpConfig(port) })
    await http.open({ ...forwardEvents(events), onClose: (reason) => this.#onLost(reason, events) })
    return http
  }

  async #launch(port: number): Promise<ProcessGroup> {
    const { config, environment, mark, watchdog } = this.#options
    const env = buildChildEnvironment({ inherited: environment, own: config.env, mark })
    const { command, cwd } = config
    const args = [...config.args, '--transport', 'streaming', '--host', '127.0.0.1', '--port', String(port)]
    try {
      return await openProcessGroup({ command, args, cwd, env, mark, watchdog, gracePeriods: GRACE_PERIODS })
    } catch (error) {
      throw spawnFailure(config, env.PATH, error)
    }
  }

  #watch(group: ProcessGroup, events: TransportEvents): void {
    const { stderr } = this.#options
    const own = stderr.forProcess()
    for (const pipe of [group.stdin, group.stdout, group.stderr]) pipe.on('error', () => {})
    // Read so that the process never blocks, and then dropped: lines of two pipes would mix.
    readFairly(group.stdout, (chunk) => chunk.length)
    readFairly(group.stderr, (chunk) => {
      stderr.push(chunk)
      own.push(chunk)
      return chunk.length
    })
    void group.closed.then((exit) => {
      stderr.end()
      this.#onLost(describeLoss({ what: describeExit(exit), stderr: own, explain: explainDockerFailure }), events)
    })
  }

  async #waitUntilHealthy(port: number): Promise<void> {
    const { startTimeoutMs } = this.#options
    const signal = AbortSignal.any([this.#starting.signal, AbortSignal.timeout(startTimeoutMs)])
    try {
      await waitUntilHealthy(port, signal)
    } catch (cause) {
      if (this.#lostReason !== undefined)
        throw new SallyportError('UPSTREAM_DIED', `It ${this.#lostReason}.`, { cause })
      const what = this.#starting.signal.aborted
        ? 'was stopped while it started'
        : `did not become healthy within ${formatDuration(startTimeoutMs)}`
      throw new SallyportError('UPSTREAM_UNAVAILABLE', `The server "${this.#options.config.id}" ${what}.`, { cause })
    }
  }

  #buildHttpConfig(port: number): HttpServerConfig {
    const { config, token } = this.#options
    const { command: _command, args: _args, env: _env, cwd: _cwd, transport: _transport, port: _port, ...rest } = config
    const headers = { Authorization: `Bearer ${token}` }
    return { ...rest, kind: 'http', url: `http://127.0.0.1:${port}/mcp`, headers }
  }

  /** When the process or the connection ends, the other one is ended too. */
  #onLost(reason: string, events: TransportEvents): void {
    if (this.#lostReason !== undefined) return
    this.#lostReason = reason
    const isUp = this.#http !== undefined
    this.#starting.abort()
    if (this.#closing !== undefined) return
    void this.close()
    if (isUp) events.onClose(reason)
  }
}

function forwardEvents(events: TransportEvents): Omit<TransportEvents, 'onClose'> {
  return {
    onFrame: (frame, during) => events.onFrame(frame, during),
    onFailure: (id, error) => events.onFailure(id, error),
    onSessionExpired: (id) => events.onSessionExpired?.(id),
    onWarning: (text) => events.onWarning(text),
  }
}

/**
 * A local port on which nobody listens: the wanted one, or any. A process that already listens on the port would get
 * our requests, and with them the token.
 */
async function findFreePort(wanted: number | undefined, server: string): Promise<number> {
  const probe = createServer()
  try {
    probe.listen({ host: '127.0.0.1', port: wanted ?? 0, exclusive: true })
    await once(probe, 'listening')
    return (probe.address() as AddressInfo).port
  } catch (cause) {
    const what = `The server "${server}" cannot listen on port ${wanted ?? 0} of 127.0.0.1: it is in use or not allowed.`
    throw new SallyportError('UPSTREAM_UNAVAILABLE', what, {
      hint: 'Choose another `port`, or leave it out: then a free port is used.',
      cause,
    })
  } finally {
    probe.close()
  }
}

/** The interval between two checks, and the timeout of one check, in milliseconds. */
const POLL_INTERVAL_MS = 100
const PROBE_TIMEOUT_MS = 2_000

/** Resolves once `/health` of a local port answers 200; rejects when the signal is aborted. */
async function waitUntilHealthy(port: number, signal: AbortSignal): Promise<void> {
  while (!(await isHealthy(port, signal))) await delay(POLL_INTERVAL_MS, undefined, { signal })
}

async function isHealthy(port: number, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted()
  const request = get({
    host: '127.0.0.1',
    port,
    path: '/health',
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]),
  })
  try {
    const [response] = await once(request, 'response')
    return response.statusCode === 200
  } catch {
    signal.throwIfAborted()
    return false
  } finally {
    // The rest of the answer is not needed, and may never end.
    request.on('error', () => {})
    request.destroy()
  }
}
