import { formatDuration, SallyportError } from '@sallyport/core'
import type { DockerGatewayConfig, HttpServerConfig } from '../../config/config.ts'
import { StreamableHttpTransport } from '../http/http.ts'
import { openProcessGroup, type ProcessGroup } from '../processes/processes.ts'
import {
  buildChildEnvironment,
  describeExit,
  describeLoss,
  readFairly,
  type StdioTransportOptions,
  spawnFailure,
} from '../stdio/stdio.ts'
import type { EncodedRequest, Transport, TransportEvents } from '../transport.ts'
import { explainDockerFailure } from './docker-failure.ts'
import { findFreePort } from './free-port.ts'
import { waitUntilHealthy } from './health.ts'

/** What one run of a Docker MCP Gateway needs, over whatever it is spoken to. */
export type DockerRun = Pick<StdioTransportOptions, 'environment' | 'mark' | 'watchdog' | 'stderr'>

export interface StreamingTransportOptions extends DockerRun {
  readonly config: DockerGatewayConfig
  /** What the process lets in; it is in its environment too. */
  readonly token: string
  readonly startTimeoutMs: number
}

/** It does not look at its stdin, so the end of that asks for nothing; its containers take a while to stop. */
const GRACE_PERIODS = { afterInputEnds: 0, afterTerminate: 5_000 } as const

/** A Docker MCP Gateway that is a process of ours and is spoken to over HTTP, on a port of this machine alone. */
export class StreamingTransport implements Transport {
  readonly #options: StreamingTransportOptions
  /** Whoever closes us while it starts, or its own end, ends the waiting. */
  readonly #starting = new AbortController()
  #opening: Promise<StreamableHttpTransport> | undefined
  #group: ProcessGroup | undefined
  #http: StreamableHttpTransport | undefined
  /** Why it is gone, once it is. */
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

  send(text: string): void {
    this.#http?.send(text)
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
    const linesBefore = stderr.written
    for (const pipe of [group.stdin, group.stdout, group.stderr]) pipe.on('error', () => {})
    // It is read so that it never blocks, and not kept: lines of two pipes would run into each other.
    readFairly(group.stdout, (chunk) => chunk.length)
    readFairly(group.stderr, (chunk) => {
      stderr.push(chunk)
      return chunk.length
    })
    void group.closed.then((exit) => {
      stderr.end()
      this.#onLost(
        describeLoss({ what: describeExit(exit), stderr, linesBefore, explain: explainDockerFailure }),
        events,
      )
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

  /** The process or the connection, whichever goes first, takes the other along. */
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
    onWarning: (text) => events.onWarning(text),
  }
}
