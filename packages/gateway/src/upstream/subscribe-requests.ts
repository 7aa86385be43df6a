import { messageOf } from '@sallyport/core'
import type { ChangeSource, SubscribeOptions } from './change-source.ts'
import { timeoutsFor } from './exchange.ts'
import type { Link } from './link.ts'
import type { Frame } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'

export interface SubscribeRequestsOptions {
  readonly link: Link
  readonly timeouts: UpstreamConfig['timeouts']
  readonly onWarning: (text: string) => void
}

/** The legacy era: one `resources/subscribe` for each resource. Changed lists are told unasked. */
export class SubscribeRequests implements ChangeSource {
  /** A server that has just come back is not met by thousands of requests at once. */
  readonly maxConcurrent = 16
  readonly #options: SubscribeRequestsOptions
  #isClosed = false

  constructor(options: SubscribeRequestsOptions) {
    this.#options = options
  }

  subscribe(uri: string, by: SubscribeOptions | undefined): Promise<Frame> {
    return this.#request('resources/subscribe', uri, by)
  }

  async unsubscribe(uri: string): Promise<void> {
    try {
      const { envelope } = await this.#request('resources/unsubscribe', uri)
      if (envelope.error !== undefined) this.#warn('the server refused it')
    } catch (error) {
      this.#warn(messageOf(error))
    }
  }

  consumes(): boolean {
    return false
  }

  close(): void {
    this.#isClosed = true
  }

  #request(method: string, uri: string, by?: SubscribeOptions): Promise<Frame> {
    const { call, callMaximum } = this.#options.timeouts
    if (!by) return this.#options.link.request({ method, params: { uri }, timeout: call, maximum: callMaximum })
    const { params, client, ask, limit, onProgress, mayTellSecrets } = by
    return this.#options.link.request({
      ...{ method, params, client, ask, limit, onProgress, mayTellSecrets },
      name: uri,
      ...timeoutsFor(by, { timeout: call, maximum: callMaximum }),
    })
  }

  /** With the connection every subscription is gone: then there is nothing to say. */
  #warn(why: string): void {
    if (!this.#isClosed) this.#options.onWarning(`a subscription could not be taken back: ${why}`)
  }
}
