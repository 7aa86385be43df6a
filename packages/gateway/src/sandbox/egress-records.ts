import type { SallyportEvent } from '@sallyport/core'
import type { EgressDecision } from './egress/egress.ts'

export interface EgressRecordsOptions {
  readonly server: string
  /** Throws if the event cannot be recorded: then nothing is connected. */
  readonly record: (event: SallyportEvent) => void
}

/** How long equal decisions are only counted after one of them was recorded. */
const WINDOW_MS = 60_000
/** Hosts that one process may have in the records within that time, each with its decisions. */
const MAX_KINDS = 50

interface Kind {
  readonly decision: Omit<EgressDecision, 'at' | 'bytes'>
  /** Those that were not recorded by themselves. */
  count: number
}

const OTHERS: Kind['decision'] = {
  host: 'others',
  port: 0,
  ok: false,
  reason: 'more hosts than are recorded each minute',
}

/**
 * Records what a process in a sandbox wanted to reach, so that it cannot flood the log: the first decision about a host
 * is recorded at once, equal ones are counted for a minute.
 */
export class EgressRecords {
  readonly #options: EgressRecordsOptions
  readonly #kinds = new Map<string, Kind>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: EgressRecordsOptions) {
    this.#options = options
  }

  add(decision: EgressDecision): void {
    const { host, port, ok, reason } = decision
    const key = JSON.stringify([host, port, ok, reason])
    const known = this.#kinds.get(key) ?? (this.#kinds.size >= MAX_KINDS ? this.#others() : undefined)
    if (known) {
      known.count++
      return
    }
    this.#options.record(this.#toEvent(decision))
    const { at: _at, bytes: _bytes, ...rest } = decision
    this.#kinds.set(key, { decision: rest, count: 0 })
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref()
  }

  /** Records what was only counted. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const kinds = [...this.#kinds.values()]
    this.#kinds.clear()
    for (const { decision, count } of kinds) if (count > 0) this.#recordCount(decision, count)
  }

  #others(): Kind {
    const known = this.#kinds.get('') ?? { decision: OTHERS, count: 0 }
    this.#kinds.set('', known)
    return known
  }

  /** These connections are over or open already, so that nobody waits for the record. */
  #recordCount(decision: Kind['decision'], count: number): void {
    try {
      this.#options.record({ ...this.#toEvent(decision), count })
    } catch {
      // The log reports by itself that it cannot be written.
    }
  }

  #toEvent({
    host,
    port,
    address,
    ok,
    reason,
    bytes,
  }: Omit<EgressDecision, 'at'>): Extract<SallyportEvent, { type: 'EGRESS_DECIDED' }> {
    return {
      type: 'EGRESS_DECIDED',
      ...{ server: this.#options.server, host, port, allowed: ok, reason },
      ...(address !== undefined && { address }),
      ...(bytes && { sent: bytes.sent, received: bytes.received }),
    }
  }
}
