import { Cancellation, isJsonObject, type JsonObject, META } from '@sallyport/core'
import type { Link } from './link.ts'
import type { Frame } from './transport.ts'

/** How a listening request ended: the server answered it, or it can no longer be answered. */
export type ListenEnd = { readonly frame: Frame } | { readonly error: unknown }

export interface ListenStreamOptions {
  readonly link: Link
  readonly filter: JsonObject
  readonly uris: ReadonlySet<string>
  /** Told once, unless we ended it ourselves. */
  readonly onEnd: (end: ListenEnd) => void
}

/** The longest time a Node timer can wait: a listening request ends only with its connection. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** One `subscriptions/listen` request. What it asks for is fixed; the server's acknowledgement says what it got. */
export class ListenStream {
  readonly uris: ReadonlySet<string>
  readonly #options: ListenStreamOptions
  readonly #cancellation = new Cancellation()
  #id: number | undefined
  #granted: ReadonlySet<string> | undefined
  #grantedNothing = false

  constructor(options: ListenStreamOptions) {
    this.uris = options.uris
    this.#options = options
  }

  open(): void {
    const { link, filter, uris, onEnd } = this.#options
    const notifications = { ...filter, ...(uris.size > 0 && { resourceSubscriptions: [...uris] }) }
    const ended = (end: ListenEnd): void => {
      if (this.#cancellation.reason === undefined) onEnd(end)
    }
    link
      .request({
        method: 'subscriptions/listen',
        params: { notifications },
        timeout: MAX_TIMER_MS,
        maximum: MAX_TIMER_MS,
        cancellation: this.#cancellation,
        onSent: (id) => {
          this.#id = id
        },
      })
      .then(
        (frame) => ended({ frame }),
        (error: unknown) => ended({ error }),
      )
  }

  /** Undefined before the acknowledgement. */
  get granted(): ReadonlySet<string> | undefined {
    return this.#granted
  }

  /** The server acknowledged nothing at all: it ends the request at once, and would do so again. */
  get grantedNothing(): boolean {
    return this.#grantedNothing
  }

  owns(id: unknown): boolean {
    return id !== undefined && id === this.#id
  }

  /** What is granted beyond what was asked for is nothing to us. */
  acknowledge(honoured: unknown): void {
    const filter = isJsonObject(honoured) ? honoured : {}
    const uris: readonly unknown[] = Array.isArray(filter.resourceSubscriptions) ? filter.resourceSubscriptions : []
    this.#grantedNothing = Object.values(filter).every(
      (part) => part === false || (Array.isArray(part) && part.length === 0),
    )
    this.#granted = new Set(uris.filter((uri): uri is string => typeof uri === 'string' && this.uris.has(uri)))
  }

  cancel(reason: string): void {
    this.#cancellation.cancel(reason)
  }
}

/** The listening request on which a notification came, by the server's word. */
export function readSubscriptionId({ params }: JsonObject): unknown {
  const meta = isJsonObject(params) ? params._meta : undefined
  return isJsonObject(meta) ? meta[META.subscriptionId] : undefined
}
