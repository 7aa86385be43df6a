import { type EgressPolicy, formatHostAndPort, judgeAddress, judgeTarget, type NetworkMode } from '@sallyport/core'
import type { EgressDecision } from './egress/egress.ts'

/** A connection that was refused or ended, or that nobody answered. */
interface FailedConnection {
  readonly target: string
  readonly reason: string
  /** Entries that the allow list would need. Empty: none would help. */
  readonly missing: readonly string[]
}

const MAX_KEPT = 50
const MAX_SHOWN = 5

/** What happened in the network of a sandboxed process while one call was in flight there. */
export class CallEgress {
  readonly callId: string
  readonly traceId: string
  /** The parser of hosts lets only letters, digits, hyphens and the like pass, so names need no cleaning. */
  readonly #failed = new Map<string, FailedConnection>()
  #mode: NetworkMode | undefined

  constructor({ callId, traceId }: Pick<CallEgress, 'callId' | 'traceId'>) {
    this.callId = callId
    this.traceId = traceId
  }

  addFailed(decision: EgressDecision, policy: EgressPolicy): void {
    const target = formatHostAndPort(decision)
    const { reason } = decision
    this.#mode = policy.mode
    if (this.#failed.size < MAX_KEPT)
      this.#failed.set(`${target} ${reason}`, { target, reason, missing: findMissing(decision, policy) })
  }

  /** For whoever called; `undefined` if no connection failed. */
  describe(): string | undefined {
    if (this.#failed.size === 0) return undefined
    const all = [...this.#failed.values()]
    const shown = all.slice(0, MAX_SHOWN)
    const lines = shown.map(({ target, reason }) => `${target} (${reason})`)
    const more = all.length > MAX_SHOWN ? ` and ${all.length - MAX_SHOWN} more` : ''
    return `Connections from the sandbox failed while this call ran: ${lines.join(', ')}${more}.${this.#describeFix(shown)}`
  }

  #describeFix(shown: readonly FailedConnection[]): string {
    if (this.#mode === 'NONE')
      return ' In network mode NONE no host can be allowed: the label of the session is SECRET, or the entry of the server has "network: none".'
    const missing = new Set(shown.flatMap((failed) => failed.missing))
    if (missing.size === 0) return ''
    const entries = [...missing].map((entry) => JSON.stringify(entry)).join(', ')
    return ` The operator can allow them: add ${entries} to sandbox.proxied.allow in config.yaml.`
  }
}

const NO_ADDRESSES: ReadonlySet<string> = new Set()

function findMissing(decision: EgressDecision, policy: EgressPolicy): readonly string[] {
  const { address, port } = decision
  const resolved = address === undefined ? [] : [{ host: address, port }]
  return [
    ...[decision].filter((target) => !judgeTarget(policy, target).ok),
    ...resolved.filter((target) => !judgeAddress(policy, target, NO_ADDRESSES).ok),
  ].map(formatHostAndPort)
}
