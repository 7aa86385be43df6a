import { connect, type Socket } from 'node:net'
import type { OutgoingConnection } from './outgoing-connection.ts'

/** The default of RFC 8305. */
const NEXT_ATTEMPT_MS = 250

export interface DialOptions {
  /** Checked addresses: no other is contacted. */
  readonly addresses: readonly string[]
  readonly port: number
  readonly timeoutMs: number
  /** Ends all attempts if it is closed. */
  readonly connection: OutgoingConnection
}

export interface Dialled {
  readonly socket: Socket
  readonly address: string
}

/**
 * Connects to the first address that answers (happy eyeballs). The next one is tried after a quarter of a second, or as
 * soon as one has failed. `undefined` if none answers.
 */
export function dial({ addresses, port, timeoutMs, connection }: DialOptions): Promise<Dialled | undefined> {
  return new Promise((resolve) => {
    const waiting = alternateFamilies(addresses)
    const attempts = new Set<Socket>()
    let next: NodeJS.Timeout | undefined
    const finish = (dialled?: Dialled): void => {
      clearTimeout(next)
      clearTimeout(deadline)
      for (const attempt of attempts) if (attempt !== dialled?.socket) attempt.destroy()
      attempts.clear()
      resolve(dialled)
    }
    const tryNext = (): void => {
      clearTimeout(next)
      const address = waiting.shift()
      if (address === undefined) {
        if (attempts.size === 0) finish()
        return
      }
      const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true })
      attempts.add(socket)
      socket.once('error', () => {
        if (attempts.delete(socket)) tryNext()
      })
      socket.once('connect', () => {
        if (attempts.has(socket)) finish({ socket, address })
      })
      next = setTimeout(tryNext, NEXT_ATTEMPT_MS)
    }
    const deadline = setTimeout(() => finish(), timeoutMs)
    connection.onClose(() => finish())
    if (!connection.isClosed) tryNext()
  })
}

/** Starts with the family of the first address, as the resolver prefers it. */
function alternateFamilies(addresses: readonly string[]): string[] {
  const isV6 = (address: string): boolean => address.includes(':')
  const [first = ''] = addresses
  const preferred = addresses.filter((address) => isV6(address) === isV6(first))
  const others = addresses.filter((address) => isV6(address) !== isV6(first))
  return preferred
    .flatMap((address, index) => [address, ...others.slice(index, index + 1)])
    .concat(others.slice(preferred.length))
}
