import { messageOf } from '@sallyport/core'
import type { AskedBy, ChangeSource } from './change-source.ts'
import { patienceFor } from './exchange.ts'
import type { Link } from './link.ts'
import type { Frame } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'

export interface SubscribeRequestsOptions {
  readonly link: Link
  readonly timeouts: UpstreamConfig['timeouts']
  readonly onTrouble: (text: string) => void
}

/** The legacy era: one `resources/subscribe` for each resource. Changed lists are told unasked. */
export class SubscribeRequests implements ChangeSource {
  /** A server that has just come back is not met by thousands of requests at once. */
  readonly atOnce = 16
  readonly #options: SubscribeRequestsOptions
  #isClosed = false

  constructor(options: SubscribeRequestsOptions) {
    this.#options = options
  }

  ask(uri: string, by: AskedBy | undefined): Promise<Frame> {
    return this.#request('resources/subscribe', uri, by)
  }

  async leave(uri: string): Promise<void> {
    try {
      const { envelope } = await this.#request('resources/unsubscribe', uri)
      if (envelope.error !== undefined) this.#trouble('the server refused it')
    } catch (error) {
      this.#trouble(messageOf(error))
    }
  }

  consumes(): boolean {
    return false
  }

  close(): void {
    this.#isClosed = true
  }

  #request(method: string, uri: string, by?: AskedBy): Promise<Frame> {
    const { call, callMaximum } = this.#options.timeouts
    if (!by) return this.#options.link.request({ method, params: { uri }, timeout: call, maximum: callMaximum })
    const { params, client, ask, limit, onProgress, mayTellSecrets } = by
    return this.#options.link.request({
      ...{ method, params, client, ask, limit, onProgress, mayTellSecrets },
      name: uri,
      ...patienceFor(by, { timeout: call, maximum: callMaximum }),
    })
  }

  /** With the connection every subscription is gone: then there is nothing to say. */
  #trouble(why: string): void {
    if (!this.#isClosed) this.#options.onTrouble(`a subscription could not be taken back: ${why}`)
  }
}
