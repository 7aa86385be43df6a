import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '@sallyport/core'

export interface SenderOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly timeout: number
  readonly onWarning: (text: string) => void
}

/** With one of these statuses, the collector may accept the same request later (OTLP specification, "Failures"). */
const RETRYABLE = new Set([429, 502, 503, 504])
const RETRY_DELAYS_MS = [1_000, 2_000]

class RejectedExport extends Error {
  readonly isFinal: boolean
  constructor(status: number) {
    super(`it answered ${status}`)
    this.isFinal = !RETRYABLE.has(status)
  }
}

/**
 * Posts OTLP as JSON. The exporters of OpenTelemetry cannot be stopped during an attempt or between two attempts, and
 * would keep the process alive while the collector hangs.
 */
export class OtlpSender {
  readonly #options: SenderOptions
  readonly #closing = new AbortController()
  readonly #agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) }
  #skipsRetries = false
  #isFailing = false

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** Rejects if the collector did not accept it in time. */
  async post(url: URL, body: Uint8Array): Promise<void> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(this.#options.timeout)])
    try {
      await this.#postWithRetries(url, body, signal)
      this.#warnOnChange(url, undefined)
    } catch (error) {
      this.#warnOnChange(url, error)
      throw error
    }
  }

  /** From now on there is only one attempt per request, because the process is about to end. */
  stopRetrying(): void {
    this.#skipsRetries = true
  }

  close(): void {
    this.#closing.abort()
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  async #postWithRetries(url: URL, body: Uint8Array, signal: AbortSignal): Promise<void> {
    for (const pause of RETRY_DELAYS_MS) {
      try {
        return await this.#postOnce(url, body, signal)
      } catch (error) {
        if (this.#skipsRetries || signal.aborted || (error instanceof RejectedExport && error.isFinal)) throw error
        await wait(pause, undefined, { signal, ref: false }).catch(() => {
          throw error
        })
      }
    }
    return this.#postOnce(url, body, signal)
  }

  #postOnce(url: URL, body: Uint8Array, signal: AbortSignal): Promise<void> {
    const isSecure = url.protocol === 'https:'
    const options: RequestOptions = {
      method: 'POST',
      headers: { ...this.#options.headers, 'content-type': 'application/json', 'content-length': body.length },
      agent: this.#agents[isSecure ? 'https:' : 'http:'],
      signal,
    }
    return new Promise((resolve, reject) => {
      const request = (isSecure ? httpsRequest : httpRequest)(url, options, (response) => {
        checkResponse(response).then(resolve, reject)
      })
      request.on('error', reject)
      request.end(body)
    })
  }

  /** Warns only when failures begin and when they end: a collector that is down for a night must not fill the log. */
  #warnOnChange({ origin }: URL, error: unknown): void {
    if (this.#closing.signal.aborted || this.#isFailing === (error !== undefined)) return
    this.#isFailing = error !== undefined
    const { onWarning } = this.#options
    if (this.#isFailing)
      onWarning(`Telemetry does not reach ${origin}: ${describeFailure(error)}. Until it does, telemetry is dropped.`)
    else onWarning(`Telemetry reaches ${origin} again.`)
  }
}

async function checkResponse(response: IncomingMessage): Promise<void> {
  const { statusCode = 0 } = response
  // The body must be read to free the connection; its content is not needed.
  response.on('error', () => {}).resume()
  if (statusCode < 200 || statusCode > 299) throw new RejectedExport(statusCode)
}

function describeFailure(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'it does not answer in time'
  if (error instanceof Error && error.name === 'AbortError') return 'it does not answer in time'
  return messageOf(error)
}
