import { SallyportError } from '@sallyport/core'
import type { ProgramServerConfig } from '../../config/config.ts'
import type { Watchdog } from '../processes/processes.ts'
import { type GracePeriods, openProcessGroup, type ProcessGroup } from '../processes/processes.ts'
import type { StderrTail } from '../stderr-tail.ts'
import type { EncodedRequest, Transport, TransportEvents } from '../transport.ts'
import { buildChildEnvironment } from './child-environment.ts'
import { readFairly } from './fair-reader.ts'
import { LineFramer } from './line-framer.ts'
import { Outbox } from './outbox.ts'
import { describeExit, describeLoss, type Explain } from './process-loss.ts'
import { spawnFailure } from './spawn-failure.ts'

export interface StdioTransportOptions {
  readonly config: ProgramServerConfig
  /** Ours; only a little of it is passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly mark: string
  readonly watchdog: Watchdog
  readonly stderr: StderrTail
  readonly explain?: Explain | undefined
  readonly gracePeriods?: GracePeriods
  /** What may wait for a server that does not read. */
  readonly maxQueuedBytes?: number
}

const MAX_QUEUED_BYTES = 64 * 1_024 * 1_024
/** A dying program closes its pipes first: so long do we wait for the exit code, which says more. */
const EXIT_TIMEOUT_MS = 250
/** What handling a line costs, compared with looking at a byte. */
const LINE_COST = 200

/** A server that is a process of ours: one message a line, requests on its stdin, answers on its stdout. */
export class StdioTransport implements Transport {
  readonly #options: StdioTransportOptions
  #opening: Promise<ProcessGroup> | undefined
  #group: ProcessGroup | undefined
  #events: TransportEvents | undefined
  /** Why we gave it up, if it did not exit first. */
  #giveUpReason: string | undefined
  #outbox: Outbox | undefined
  #closed = false

  constructor(options: StdioTransportOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#group?.exit === undefined ? this.#group?.pid : undefined
  }

  async open(events: TransportEvents): Promise<void> {
    if (this.#closed || this.#opening !== undefined) {
      throw new SallyportError('INTERNAL', 'A transport was opened twice, or after it was closed.')
    }
    this.#events = events
    this.#opening = this.#start()
    const group = await this.#opening
    if (!this.#closed) return
    await group.end()
    throw new SallyportError(
      'UPSTREAM_UNAVAILABLE',
      `The server "${this.#options.config.id}" was stopped while it started.`,
    )
  }

  request(request: EncodedRequest): void {
    const outbox = this.#getOutbox()
    if (outbox instanceof Outbox) return outbox.request(request)
    // Whoever asks may still be noting down that it asked.
    queueMicrotask(() => this.#activeEvents()?.onFailure(request.id, outbox))
  }

  send(text: string): void {
    const outbox = this.#getOutbox()
    if (outbox instanceof Outbox) outbox.send(text)
    else this.#activeEvents()?.onWarning(`A message was dropped: ${outbox.message}`)
  }

  /** One that was not written yet is not written at all. */
  abandon(id: number): boolean {
    return this.#outbox?.abandon(id) ?? false
  }

  setProtocolVersion(): void {
    // Only HTTP repeats the version.
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#outbox?.close()
    const group = await this.#opening?.catch(() => undefined)
    await group?.end()
  }

  async #start(): Promise<ProcessGroup> {
    const { config, environment, mark, watchdog, gracePeriods } = this.#options
    const env = buildChildEnvironment({ inherited: environment, own: config.env, mark })
    const { command, args, cwd } = config
    try {
      const group = await openProcessGroup({ command, args, cwd, env, mark, watchdog, gracePeriods })
      this.#attach(group)
      return group
    } catch (error) {
      throw spawnFailure(config, env.PATH, error)
    }
  }

  #attach(group: ProcessGroup): void {
    this.#group = group
    this.#outbox = new Outbox(group.stdin, (id, refusal) => this.#activeEvents()?.onFailure(id, refusal))
    const { stderr, explain } = this.#options
    const linesBefore = stderr.written
    this.#readOutput(group)
    group.stdin.on('error', () => this.#giveUp(group, 'closed its stdin'))
    group.stdout.on('end', () => this.#giveUp(group, 'closed its stdout'))
    group.stderr.on('error', () => {})
    readFairly(group.stderr, (chunk) => {
      stderr.push(chunk)
      return chunk.length
    })
    void group.closed.then((exit) => {
      stderr.end()
      const what = this.#giveUpReason ?? describeExit(exit)
      this.#activeEvents()?.onClose(describeLoss({ what, stderr, linesBefore, explain }))
    })
  }

  #readOutput(group: ProcessGroup): void {
    const framer = new LineFramer({
      maxMessageBytes: this.#options.config.maxMessageBytes,
      events: {
        onFrame: (frame) => this.#activeEvents()?.onFrame(frame, undefined),
        onFailure: (id, error) => this.#activeEvents()?.onFailure(id, error),
        onWarning: (text) => this.#activeEvents()?.onWarning(text),
      },
    })
    readFairly(group.stdout, (chunk) => chunk.length + framer.push(chunk) * LINE_COST)
    group.stdout.on('end', () => framer.end())
    group.stdout.on('error', () => {})
  }

  /** After `close` nobody wants to hear anything. */
  #activeEvents(): TransportEvents | undefined {
    return this.#closed ? undefined : this.#events
  }

  /** Or why nothing can be written. */
  #getOutbox(): Outbox | SallyportError {
    const { config, maxQueuedBytes: limit = MAX_QUEUED_BYTES } = this.#options
    if (!this.#outbox || !this.#group?.stdin.writable)
      return new SallyportError('UPSTREAM_GONE', `The server "${config.id}" is gone.`)
    const { length } = this.#outbox
    if (length <= limit) return this.#outbox
    const what = `The server "${config.id}" does not read: ${length} bytes wait for it, at most ${limit} may.`
    return new SallyportError('OVERLOADED', what, { hint: 'Try again later; restart the server if it stays so.' })
  }

  /** Half a connection is none. */
  #giveUp(group: ProcessGroup, reason: string): void {
    void group.exitsWithin(EXIT_TIMEOUT_MS).then((exited) => {
      if (!exited) this.#giveUpReason ??= reason
      return group.end()
    })
  }
}
