import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { MAY_HAVE_RUN_HINT, SallyportError } from '@sallyport/core'
import { LineReader } from '@sallyport/kit/line-reader'
import type { Home } from '../../config/config.ts'
import { parseProblem } from '../../serve/problem.ts'
import type { RunRequest, TokenRequest } from '../../serve/serve.ts'
import type { MintedToken } from '../../sessions/sessions.ts'
import { createTimeoutError, RESPONSE_TIMEOUT_MS } from '../gateway/gateway-timeout.ts'
import { joinGateway } from '../gateway/join-gateway.ts'

export interface LeaseOptions {
  readonly state: string
  readonly home: Home
  readonly cwd: string
  readonly environment: NodeJS.ProcessEnv
}

const MIN_RETRY_MS = 100
const MAX_RETRY_MS = 5_000
const MAX_LINE_BYTES = 1_048_576

/** Joins the gateway, or starts one, and keeps a gateway running until the lease is closed. */
export async function openGatewayLease(options: LeaseOptions): Promise<GatewayLease> {
  return new GatewayLease(options, await joinGateway('run', options))
}

/**
 * Keeps a gateway running for a run. If it dies, this process starts another: a gateway started by the agent could see
 * its keys.
 */
export class GatewayLease {
  readonly #options: LeaseOptions
  #stream: Duplex
  /** These tokens are revoked when this process ends, even if it is killed. */
  readonly #tokens = new Set<string>()
  #closed = false
  #onAnswer: ((answer: unknown) => void) | undefined

  constructor(options: LeaseOptions, stream: Duplex) {
    this.#options = options
    this.#stream = stream
    this.#watch(stream)
  }

  async mint(request: TokenRequest): Promise<MintedToken> {
    const minted = (await this.#request({ mint: request })) as MintedToken
    this.#tokens.add(minted.record.id)
    return minted
  }

  async revoke(id: string): Promise<void> {
    await this.#request({ revoke: id })
    this.#tokens.delete(id)
  }

  close(): void {
    this.#closed = true
    this.#stream.destroy()
  }

  /** Must not be called in parallel. */
  async #request(request: RunRequest): Promise<unknown> {
    const stream = this.#stream
    if (!stream.writable) throw gone()
    let timer: NodeJS.Timeout | undefined
    let lose = (): void => {}
    const answer = await new Promise<unknown>((resolve, reject) => {
      this.#onAnswer = resolve
      lose = () => reject(gone())
      stream.once('close', lose)
      timer = setTimeout(async () => {
        reject(await createTimeoutError(this.#options.state))
        // A late answer would be taken as the answer to the next request.
        stream.destroy()
      }, RESPONSE_TIMEOUT_MS)
      stream.write(`${JSON.stringify(request)}\n`)
    }).finally(() => {
      clearTimeout(timer)
      stream.off('close', lose)
    })
    const refused = parseProblem(answer)
    if (refused !== undefined) throw refused
    return answer
  }

  #join(): Promise<Duplex> {
    const headers = this.#tokens.size === 0 ? {} : { 'x-sallyport-token': [...this.#tokens].join(' ') }
    return joinGateway('run', { ...this.#options, headers })
  }

  #watch(stream: Duplex): void {
    const reader = new LineReader({
      limit: MAX_LINE_BYTES,
      onLine: (line) => this.#onAnswer?.(JSON.parse(line.toString())),
      onOversized: () => stream.destroy(),
    })
    stream.on('error', () => stream.destroy()).on('data', (chunk: Buffer) => reader.feed(chunk))
    stream.once('close', () => void this.#rejoin(stream))
  }

  /** Prints nothing: the terminal belongs to the agent, and its window reports the lost gateway. */
  async #rejoin(lost: Duplex): Promise<void> {
    for (let pause = MIN_RETRY_MS; !this.#closed && this.#stream === lost; pause = Math.min(2 * pause, MAX_RETRY_MS)) {
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

const gone = (): SallyportError =>
  new SallyportError('GATEWAY_UNREACHABLE', 'The gateway ended before it answered.', {
    hint: MAY_HAVE_RUN_HINT,
  })
