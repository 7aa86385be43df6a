import { type ErrorCode, formatDuration, type SallyportEvent } from '@sallyport/core'
import type { EscalationSettings } from '../config/config.ts'
import type { CallEnd } from '../telemetry/telemetry.ts'
import type { ModeProposal } from './mode-state.ts'
import { SlidingWindow } from './sliding-window.ts'

export interface EscalationOptions {
  readonly settings: EscalationSettings
  /** A clock that nobody sets, in milliseconds. */
  readonly now: () => number
  readonly propose: (proposal: ModeProposal) => void
}

/**
 * Refusals that a caller brought about by wanting what the rules forbid. The others come of a mistake, of a limit,
 * of a server's schema, of nobody answering, or of the mode itself, which must not feed on its own refusals.
 */
const VIOLATIONS: ReadonlySet<ErrorCode> = new Set([
  'CALL_DENIED',
  'DEFINITION_CHANGED',
  'ARGUMENTS_FORBIDDEN',
  'SECRET_REFUSED',
  'APPROVAL_DENIED',
])

/** Of a call that was not answered: whether that tells something about its tool. */
const isToolFailure = (code: ErrorCode): boolean => code.startsWith('UPSTREAM_')

interface Counts {
  readonly violations: SlidingWindow
  readonly calls: SlidingWindow
  readonly failures: SlidingWindow
  /** By server. */
  readonly losses: Map<string, SlidingWindow>
}

/** Watches what happens, and proposes a stricter mode when a trigger of the settings fires. It costs a call a few counters. */
export class Escalation {
  readonly #now: () => number
  readonly #propose: (proposal: ModeProposal) => void
  #settings: EscalationSettings
  #counts: Counts
  /** Servers that are up: what never came up cannot flap. */
  readonly #connected = new Set<string>()
  #failingSince: number | undefined

  constructor({ settings, now, propose }: EscalationOptions) {
    this.#now = now
    this.#propose = propose
    this.#settings = settings
    this.#counts = createCounts(settings)
  }

  /** Everything is counted anew. */
  reset(): void {
    this.#counts = createCounts(this.#settings)
    this.#failingSince = undefined
  }

  /** What did not change goes on counting. */
  reload(settings: EscalationSettings): void {
    if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return
    this.#settings = settings
    this.reset()
  }

  /** What happens to servers. */
  observe(event: SallyportEvent): void {
    switch (event.type) {
      case 'UPSTREAM_CONNECTED':
      case 'UPSTREAM_RESTARTED':
        return this.connected(event.server)
      case 'UPSTREAM_LOST':
        return this.lost(event.server)
      default:
        return undefined
    }
  }

  /** A call came to its end. */
  callEnded({ outcome, code }: Pick<CallEnd, 'outcome' | 'code'>): void {
    if (code !== undefined && VIOLATIONS.has(code)) this.#violated()
    else if (code === undefined || isToolFailure(code)) this.#count(outcome === 'success' ? 'well' : 'badly')
  }

  #violated(): void {
    const trigger = this.#settings.policyViolations
    if (trigger === undefined) return
    const count = this.#counts.violations.add(this.#now())
    if (count < trigger.count) return
    this.#counts.violations.clear()
    this.#propose({ to: trigger.to, why: `${count} calls broke the rules within ${formatDuration(trigger.window)}` })
  }

  #count(outcome: 'well' | 'badly'): void {
    const trigger = this.#settings.toolErrors
    if (trigger === undefined) return
    const at = this.#now()
    const calls = this.#counts.calls.add(at)
    const failures = outcome === 'badly' ? this.#counts.failures.add(at) : this.#counts.failures.total(at)
    if (calls < trigger.least || failures === 0 || failures < trigger.rate * calls) return
    this.#counts.calls.clear()
    this.#counts.failures.clear()
    const why = `${failures} of ${calls} calls failed within ${formatDuration(trigger.window)}`
    this.#propose({ to: trigger.to, why })
  }

  connected(server: string): void {
    this.#connected.add(server)
  }

  lost(server: string): void {
    const trigger = this.#settings.upstreamFlapping
    // One that cannot even be started is lost again and again, but does not come and go.
    if (!this.#connected.delete(server) || trigger === undefined) return
    const { losses } = this.#counts
    const own = losses.get(server) ?? new SlidingWindow(trigger.window)
    losses.set(server, own)
    const count = own.add(this.#now())
    if (count < trigger.count) return
    losses.delete(server)
    const why = `the server ${server} was lost ${count} times within ${formatDuration(trigger.window)}`
    this.#propose({ to: trigger.to, why })
  }

  recordWritten(): void {
    this.#failingSince = undefined
  }

  /** A record could not be written. */
  recordFailed(): void {
    const trigger = this.#settings.auditFailing
    const at = this.#now()
    this.#failingSince ??= at
    const lasted = at - this.#failingSince
    if (trigger === undefined || lasted < trigger.lasting) return
    this.#failingSince = at
    this.#propose({ to: trigger.to, why: `no record could be written for ${formatDuration(lasted)}` })
  }
}

/** A window that nothing is counted in has any length. */
const createCounts = ({ policyViolations, toolErrors }: EscalationSettings): Counts => ({
  violations: new SlidingWindow(policyViolations?.window ?? 1),
  calls: new SlidingWindow(toolErrors?.window ?? 1),
  failures: new SlidingWindow(toolErrors?.window ?? 1),
  losses: new Map(),
})
