import { isJsonObject, type JsonObject, META } from '@sallyport/core'

type Id = string | number

/** Requests wait no longer than this for the server that a listening request is about. */
const MAX_WAIT_MS = 1_000

/**
 * The listening requests of one pipe that are not acknowledged yet. Some clients do not wait for the acknowledgement,
 * since a server reads its pipe in order: what such a client sends next must not overtake its subscription.
 */
export class PendingListens {
  readonly #pending = new Map<Id, PromiseWithResolve>()

  get isEmpty(): boolean {
    return this.#pending.size === 0
  }

  add(id: Id): void {
    this.#pending.set(id, createPromise())
  }

  /** The request was acknowledged, or has ended without. */
  settle(id: Id): void {
    this.#pending.get(id)?.resolve()
    this.#pending.delete(id)
  }

  /** Reads acknowledgements that are sent to the client. */
  observe({ method, params }: JsonObject): void {
    if (method !== 'notifications/subscriptions/acknowledged' || !isJsonObject(params)) return
    const id = isJsonObject(params._meta) ? params._meta[META.subscriptionId] : undefined
    if (typeof id === 'string' || typeof id === 'number') this.settle(id)
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, MAX_WAIT_MS)
      void Promise.all([...this.#pending.values()].map(({ promise }) => promise)).then(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}

interface PromiseWithResolve {
  readonly promise: Promise<void>
  readonly resolve: () => void
}

function createPromise(): PromiseWithResolve {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
