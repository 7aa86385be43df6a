import type { SallyportEvent } from '@sallyport/core'
import type { CallEgress } from './call-egress.ts'
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
/** Calls that one record names, unless more than these were in flight at the same moment. */
const MAX_CALLS = 100

/** What a record says of a call. */
type RecordedCall = Pick<CallEgress, 'callId' | 'traceId'>

interface Kind {
  readonly decision: Omit<EgressDecision, 'at' | 'bytes'>
  /** Those that were not recorded by themselves, and the calls in flight then, by their ids. */
  count: number
  readonly calls: Map<string, RecordedCall>
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

  /** `calls`: those in flight in the process at this moment. */
  add(decision: EgressDecision, calls: readonly RecordedCall[]): void {
    const { host, port, ok, reason } = decision
    const key = JSON.stringify([host, port, ok, reason])
    const known = this.#kinds.get(key) ?? (this.#kinds.size >= MAX_KINDS ? this.#others() : undefined)
    if (known) return this.#count(known, calls)
    this.#options.record({ ...this.#toEvent(decision), ...nameCalls(calls) })
    const { at: _at, bytes: _bytes, ...rest } = decision
    this.#kinds.set(key, { decision: rest, count: 0, calls: new Map() })
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref()
  }

  #count(kind: Kind, calls: readonly RecordedCall[]): void {
    kind.count++
    for (const call of calls) kind.calls.set(call.callId, call)
    if (kind.calls.size >= MAX_CALLS) this.#recordCount(kind)
  }

  /** Records what was only counted. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const kinds = [...this.#kinds.values()]
    this.#kinds.clear()
    for (const kind of kinds) this.#recordCount(kind)
  }

  #others(): Kind {
    const known = this.#kinds.get('') ?? { decision: OTHERS, count: 0, calls: new Map() }
    this.#kinds.set('', known)
    return known
  }

  /** These connections are over or open already, so that nobody waits for the record. */
  #recordCount(kind: Kind): void {
    const { decision, count } = kind
    if (count === 0) return
    const calls = [...kind.calls.values()]
    kind.count = 0
    kind.calls.clear()
    try {
      this.#options.record({ ...this.#toEvent(decision), count, ...nameCalls(calls) })
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

/** One call caused it; of several, any may have. */
function nameCalls(calls: readonly RecordedCall[]) {
  const [only] = calls
  if (only === undefined) return {}
  if (calls.length === 1) return { call_id: only.callId, trace_id: only.traceId }
  return { trace_ids: [...new Set(calls.map(({ traceId }) => traceId))] }
}
