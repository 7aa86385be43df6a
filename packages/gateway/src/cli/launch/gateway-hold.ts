import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Home } from '../../config/config.ts'
import { joinGateway } from '../join-gateway.ts'

export interface HoldOptions {
  readonly state: string
  readonly home: Home
  readonly cwd: string
  readonly environment: NodeJS.ProcessEnv
}

const FIRST_PAUSE = 100
const LONGEST_PAUSE = 5_000

/** Joins the gateway, or starts it, and keeps one running until it is closed. */
export async function openGatewayHold(options: HoldOptions): Promise<GatewayHold> {
  return new GatewayHold(options, await joinGateway('run', options))
}

/** Holds a gateway open for a run. When it dies another is started, by us: what the agent starts may know its keys. */
export class GatewayHold {
  readonly #options: HoldOptions
  #stream: Duplex
  #tokens: readonly string[] = []
  #closed = false

  constructor(options: HoldOptions, stream: Duplex) {
    this.#options = options
    this.#stream = stream
    this.#watch(stream)
  }

  /** From now on these tokens end when we do, also when this process is killed. */
  async bind(tokens: readonly string[]): Promise<void> {
    this.#tokens = tokens
    const before = this.#stream
    this.#stream = await this.#join()
    before.destroy()
    this.#watch(this.#stream)
  }

  close(): void {
    this.#closed = true
    this.#stream.destroy()
  }

  #join(): Promise<Duplex> {
    const headers = this.#tokens.length === 0 ? {} : { 'x-sallyport-token': this.#tokens.join(' ') }
    return joinGateway('run', { ...this.#options, headers })
  }

  #watch(stream: Duplex): void {
    // Unread, the end of the stream would never be seen.
    stream.on('error', () => stream.destroy()).resume()
    stream.once('close', () => void this.#rejoin(stream))
  }

  /** Nothing is said: the terminal belongs to the agent, whose window says what it misses. */
  async #rejoin(lost: Duplex): Promise<void> {
    for (let pause = FIRST_PAUSE; !this.#closed && this.#stream === lost; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      await delay(pause, undefined, { ref: false })
      if (this.#closed) return
      const stream = await this.#join().catch(() => undefined)
      if (stream === undefined) continue
      if (this.#closed) return void stream.destroy()
      this.#stream = stream
      this.#watch(stream)
    }
  }
}
