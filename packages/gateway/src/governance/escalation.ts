import { type ErrorCode, formatDuration, instanceIn, type SallyportEvent } from '@sallyport/core'
import type { EscalationSettings } from '../config/config.ts'
import type { CallEnd } from '../telemetry/telemetry.ts'
import type { ModeProposal } from './mode-state.ts'
import { SlidingWindow } from './sliding-window.ts'

export interface EscalationOptions {
  readonly settings: EscalationSettings
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
  readonly propose: (proposal: ModeProposal) => void
}

/**
 * Refusals of calls that the rules forbid. Other refusals have other causes: a mistake, a limit, a server's schema, a
 * missing answer, or the mode itself, whose own refusals must not make it stricter still.
 */
const VIOLATIONS: ReadonlySet<ErrorCode> = new Set([
  'CALL_DENIED',
  'DEFINITION_CHANGED',
  'ARGUMENTS_FORBIDDEN',
  'SECRET_REFUSED',
  'APPROVAL_DENIED',
])

/** Whether the error code of a call means that its tool failed. */
const isToolFailure = (code: ErrorCode): boolean => code.startsWith('UPSTREAM_')

interface Counts {
  readonly violations: SlidingWindow
  readonly calls: SlidingWindow
  readonly failures: SlidingWindow
  /** By server. */
  readonly losses: Map<string, SlidingWindow>
}

/** Counts incidents and proposes a stricter mode when a trigger of the settings fires. The cost per call is a few counters. */
export class Escalation {
  readonly #now: () => number
  readonly #propose: (proposal: ModeProposal) => void
  #settings: EscalationSettings
  #counts: Counts
  /** Connected servers: only a server that was connected can flap. */
  readonly #connected = new Set<string>()
  #failingSince: number | undefined

  constructor({ settings, now, propose }: EscalationOptions) {
    this.#now = now
    this.#propose = propose
    this.#settings = settings
    this.#counts = createCounts(settings)
  }

  /** Resets all counters. */
  reset(): void {
    this.#counts = createCounts(this.#settings)
    this.#failingSince = undefined
  }

  /** If the settings did not change, the counters are kept. */
  reload(settings: EscalationSettings): void {
    if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return
    this.#settings = settings
    this.reset()
  }

  /** Handles the events of servers. */
  observe(event: SallyportEvent): void {
    switch (event.type) {
      case 'UPSTREAM_CONNECTED':
      case 'UPSTREAM_RESTARTED':
        return this.connected(instanceIn(event))
      case 'UPSTREAM_LOST':
        return this.lost(instanceIn(event))
      default:
        return undefined
    }
  }

  /** Must be called when a call has ended. */
  callEnded({ outcome, code }: Pick<CallEnd, 'outcome' | 'code'>): void {
    if (code !== undefined && VIOLATIONS.has(code)) this.#violated()
    else if (code === undefined || isToolFailure(code)) this.#count(outcome === 'success' ? 'success' : 'failure')
  }

  #violated(): void {
    const trigger = this.#settings.policyViolations
    if (trigger === undefined) return
    const count = this.#counts.violations.add(this.#now())
    if (count < trigger.count) return
    this.#counts.violations.clear()
    this.#propose({ to: trigger.to, why: `${count} calls broke the rules within ${formatDuration(trigger.window)}` })
  }

  #count(outcome: 'success' | 'failure'): void {
    const trigger = this.#settings.toolErrors
    if (trigger === undefined) return
    const at = this.#now()
    const calls = this.#counts.calls.add(at)
    const failures = outcome === 'failure' ? this.#counts.failures.add(at) : this.#counts.failures.total(at)
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
    // A server that cannot be started is lost repeatedly, but it does not flap.
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

  /** Must be called when a record could not be written. */
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

/** For a trigger that is off, the length of the window does not matter. */
const createCounts = ({ policyViolations, toolErrors }: EscalationSettings): Counts => ({
  violations: new SlidingWindow(policyViolations?.window ?? 1),
  calls: new SlidingWindow(toolErrors?.window ?? 1),
  failures: new SlidingWindow(toolErrors?.window ?? 1),
  losses: new Map(),
})
