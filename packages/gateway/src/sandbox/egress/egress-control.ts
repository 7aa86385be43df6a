import type { Socket } from 'node:net'
import {
  type ConnectionOpening,
  type EgressPolicy,
  type EgressVerdict,
  type HostAndPort,
  isAddress,
  isWiderMode,
  judgeAddress,
  judgeOpening,
  judgeTarget,
} from '@sallyport/core'
import { dial } from './dial.ts'
import type { EgressLimits } from './egress-limits.ts'
import { listOwnAddresses, NameLookup, type ResolveName } from './name-lookup.ts'
import { OutgoingConnection } from './outgoing-connection.ts'

/** What was decided about one connection or request, for the log. Never a path, a header or a credential. */
export interface EgressDecision extends HostAndPort {
  /** Missing if it was decided by the name. */
  readonly address?: string
  readonly ok: boolean
  readonly reason: string
  /** In milliseconds, by `clock`. */
  readonly at: number
  /** What an open connection had carried when it was ended by us. */
  readonly bytes?: { readonly sent: number; readonly received: number }
}

export interface EgressStats {
  readonly open: number
  readonly allowed: number
  readonly refused: number
  /** Open connections that a narrower policy or a limit has ended. */
  readonly cut: number
  readonly sent: number
  readonly received: number
}

/** Why a client gets no connection, and the HTTP status that says so. */
export interface Refusal {
  readonly status: 400 | 403 | 502 | 503
  readonly reason: string
}

export interface EgressControlOptions {
  readonly policy: EgressPolicy
  readonly limits: EgressLimits
  readonly resolve: ResolveName
  readonly clock: () => number
  readonly onDecision: (decision: EgressDecision) => void
}

export const isRefusal = (value: object): value is Refusal => 'status' in value && 'reason' in value

/** Decides about all connections outward of one sandbox, and knows those that are open. */
export class EgressControl {
  readonly limits: EgressLimits
  readonly #onDecision: (decision: EgressDecision) => void
  readonly #clock: () => number
  readonly #lookup: NameLookup
  readonly #connections = new Set<OutgoingConnection>()
  readonly #counts = { allowed: 0, refused: 0, cut: 0, sent: 0, received: 0 }
  #policy: EgressPolicy

  constructor({ policy, limits, resolve, clock, onDecision }: EgressControlOptions) {
    this.#policy = policy
    this.limits = limits
    this.#lookup = new NameLookup(resolve)
    this.#clock = clock
    this.#onDecision = onDecision
  }

  get stats(): EgressStats {
    return { open: this.#connections.size, ...this.#counts }
  }

  /** Before it returns, each open connection that the new policy does not allow is closed. */
  setPolicy(policy: EgressPolicy): { readonly cut: number } {
    if (isWiderMode(policy.mode, this.#policy.mode))
      throw new Error(`The network mode of a sandbox cannot be widened from ${this.#policy.mode} to ${policy.mode}.`)
    this.#policy = policy
    const own = listOwnAddressesOnce()
    const cut: OutgoingConnection[] = []
    for (const connection of this.#connections) {
      const verdict = this.#judgeAll(connection, own)
      if (verdict.ok) continue
      connection.cut(verdict.reason)
      cut.push(connection)
    }
    // Only now, so that a slow log delays none of this.
    for (const connection of cut) this.#reportCut(connection)
    return { cut: cut.length }
  }

  /** Decides by the target alone. What it returns must be closed, or passed to `connect`. */
  admit(target: HostAndPort): OutgoingConnection | Refusal {
    const verdict = judgeTarget(this.#policy, target)
    if (!verdict.ok) return this.refuse(target, { status: 403, reason: verdict.reason })
    if (this.#connections.size >= this.limits.connections)
      return this.refuse(target, { status: 503, reason: `more than ${this.limits.connections} connections are open` })
    const connection = new OutgoingConnection(target)
    this.#connections.add(connection)
    connection.onClose(() => this.#connections.delete(connection))
    return connection
  }

  /** Resolves the name once, and connects to an address that it has checked. */
  async connect(connection: OutgoingConnection): Promise<Socket | Refusal> {
    const { target } = connection
    const found = isAddress(target.host) ? [target.host] : await this.#findAddresses(connection)
    if (connection.isClosed) return closedMeanwhile(connection)
    if (found === undefined || found.length === 0)
      return this.#fail(connection, { status: 502, reason: 'its name does not resolve' })
    const own = listOwnAddresses()
    const judged = found.map((host) => ({ host, verdict: this.#judgeAddress(host, target.port, own) }))
    const addresses = judged.flatMap(({ host, verdict }) => (verdict.ok ? [host] : []))
    const [first] = judged
    if (addresses.length === 0 && first !== undefined)
      return this.#fail(connection, { status: 403, reason: first.verdict.reason }, first.host)
    connection.addresses = addresses
    const dialled = await dial({ addresses, port: target.port, timeoutMs: this.limits.connectMs, connection })
    if (dialled === undefined && !connection.isClosed)
      return this.#fail(connection, { status: 502, reason: 'none of its addresses answers' }, addresses[0])
    if (dialled === undefined) return closedMeanwhile(connection)
    const { socket, address } = dialled
    if (connection.isClosed) {
      socket.destroy()
      return closedMeanwhile(connection)
    }
    connection.attach(socket, address)
    socket.setTimeout(this.limits.idleMs, () => connection.close())
    if (!this.#reportOpen(connection, address))
      return this.#fail(connection, { status: 503, reason: 'it cannot be recorded' })
    return socket
  }

  /** Decides by the first bytes of the client. A connection that is refused is closed. */
  acceptOpening(connection: OutgoingConnection, opening: ConnectionOpening): boolean {
    connection.opening = opening
    const verdict = judgeOpening(this.#policy, connection.target, opening)
    if (!verdict.ok) this.cut(connection, verdict.reason)
    return verdict.ok
  }

  /** Adds to what a connection has carried, and ends it if that is more than allowed. */
  count(connection: OutgoingConnection, { sent = 0, received = 0 }: { sent?: number; received?: number }): void {
    if (connection.isClosed) return
    connection.sent += sent
    connection.received += received
    this.#counts.sent += sent
    this.#counts.received += received
    if (connection.sent + connection.received > this.limits.bytesPerConnection)
      this.cut(connection, `it carried more than ${this.limits.bytesPerConnection} bytes`)
  }

  cut(connection: OutgoingConnection, reason: string): void {
    if (connection.isClosed) return
    connection.cut(reason)
    this.#reportCut(connection)
  }

  /** Reports a refusal, and returns it. */
  refuse(target: HostAndPort, refusal: Refusal, address?: string): Refusal {
    this.#counts.refused++
    this.#report(target, { ok: false, reason: refusal.reason, ...(address === undefined ? {} : { address }) })
    return refusal
  }

  closeAll(): void {
    for (const connection of this.#connections) connection.cut('the sandbox was stopped')
  }

  /** Decides anew about all that is known of a connection: what it was let do so far, it may do only if it still may. */
  #judgeAll({ target, addresses, opening }: OutgoingConnection, own: () => ReadonlySet<string>): EgressVerdict {
    const byTarget = judgeTarget(this.#policy, target)
    if (!byTarget.ok) return byTarget
    for (const address of addresses) {
      const byAddress = this.#judgeAddress(address, target.port, own())
      if (!byAddress.ok) return byAddress
    }
    return opening === undefined ? byTarget : judgeOpening(this.#policy, target, opening)
  }

  #judgeAddress(host: string, port: number, own: ReadonlySet<string>): EgressVerdict {
    return judgeAddress(this.#policy, { host, port }, own)
  }

  /** `undefined` if the name does not resolve in time, or the connection was closed. */
  async #findAddresses(connection: OutgoingConnection): Promise<readonly string[] | undefined> {
    let timer: NodeJS.Timeout | undefined
    const given = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), this.limits.connectMs)
      connection.onClose(() => resolve(undefined))
    })
    const found = this.#lookup
      .find(connection.target.host, () => !connection.isClosed)
      .catch((): undefined => undefined)
    try {
      return await Promise.race([found, given])
    } finally {
      clearTimeout(timer)
    }
  }

  #reportOpen({ target }: OutgoingConnection, address: string): boolean {
    const { reason } = judgeTarget(this.#policy, target)
    const isRecorded = this.#report(target, { ok: true, reason, address })
    if (isRecorded) this.#counts.allowed++
    return isRecorded
  }

  #fail(connection: OutgoingConnection, refusal: Refusal, address?: string): Refusal {
    connection.close()
    return this.refuse(connection.target, refusal, address)
  }

  #reportCut({ target, isConnected, addresses, cutReason = '', sent, received }: OutgoingConnection): void {
    this.#counts.cut++
    const [address] = isConnected ? addresses : []
    const bytes = { sent, received }
    this.#report(target, { ok: false, reason: cutReason, bytes, ...(address === undefined ? {} : { address }) })
  }

  /** Whether it was recorded. An error of the log must not keep a connection open, or end the process. */
  #report(target: HostAndPort, rest: Omit<EgressDecision, 'host' | 'port' | 'at'>): boolean {
    try {
      this.#onDecision({ host: target.host, port: target.port, ...rest, at: this.#clock() })
      return true
    } catch {
      return false
    }
  }
}

const closedMeanwhile = ({ cutReason = 'the client closed the connection' }: OutgoingConnection): Refusal => ({
  status: 403,
  reason: cutReason,
})

/** Listing them takes longer than all the rest of a switch. */
function listOwnAddressesOnce(): () => ReadonlySet<string> {
  let listed: ReadonlySet<string> | undefined
  return () => {
    listed ??= listOwnAddresses()
    return listed
  }
}
