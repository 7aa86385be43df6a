import type { Link } from './link.ts'
import type { Route } from './route.ts'
import type { SessionLabel } from './session-label.ts'

/** Hears of changes of a resource until it is closed. */
export interface Subscription {
  close(): Promise<void>
}

interface SubscriptionParts {
  readonly route: Route
  readonly label: SessionLabel
  readonly open: (link: Link) => Promise<Subscription>
  /** Told when the subscription could not be moved to the isolated instance. */
  readonly onLost: (error: unknown) => void
}

/** Follows the session: where it becomes private the subscription is opened anew at the isolated instance. */
export async function openMovingSubscription({ route, label, open, onLost }: SubscriptionParts): Promise<Subscription> {
  let current = route.run(open)
  let isClosed = false
  const move = async (): Promise<Subscription> => {
    const old = await current.catch(() => undefined)
    await old?.close().catch(() => {})
    return isClosed ? CLOSED_SUBSCRIPTION : route.run(open)
  }
  const unwatch = label.onPrivate(() => {
    current = move()
    current.catch(onLost)
  })
  await current
  return {
    close: async () => {
      isClosed = true
      unwatch()
      await (await current.catch(() => CLOSED_SUBSCRIPTION)).close()
    },
  }
}

const CLOSED_SUBSCRIPTION: Subscription = { close: async () => {} }
