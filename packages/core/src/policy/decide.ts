import type { ErrorCode } from '../errors.ts'

/** The source location of a rule, so that a person can read it. */
export interface RuleSource {
  readonly file: string
  readonly line: number
}

export type Verdict =
  | {
      readonly outcome: 'allow'
      readonly reason?: string
      readonly rule?: RuleSource
      /** The earlier approval because of which nobody has to be asked. */
      readonly approval?: string
      /** The verdict if the rules were enforced. */
      readonly would?: Exclude<Verdict, { outcome: 'allow' }>
    }
  | {
      readonly outcome: 'ask'
      readonly reason: string
      readonly rule?: RuleSource
      /** The call does not wait: it is refused with this code until a person has approved exactly this call. */
      readonly code?: ErrorCode
    }
  | { readonly outcome: 'deny'; readonly code: ErrorCode; readonly reason: string; readonly rule?: RuleSource }

export const ALLOW: Verdict = Object.freeze({ outcome: 'allow' })

/** The order of the steps. Listing runs the first three, which do not depend on a call. Calling runs all of them. */
export const STEP_NAMES = ['select', 'mode', 'pin', 'validate', 'label', 'arguments', 'limits', 'approve'] as const

export type StepName = (typeof STEP_NAMES)[number]

/** One small decision about the subject. It can only restrict what the steps before it allowed. */
export interface Step<Subject> {
  readonly name: StepName
  readonly evaluate: (subject: Subject) => Verdict
}

export interface StepVerdict {
  readonly step: StepName
  readonly verdict: Verdict
}

export interface Decision {
  readonly outcome: Verdict['outcome']
  readonly verdicts: readonly StepVerdict[]
  /** The step that decided, if the outcome is not `allow`. */
  readonly decisive?: StepVerdict
}

/** Runs the steps in order. The first `deny` ends it. An `ask` remains unless a later step denies. */
export function decide<Subject>(
  steps: readonly Step<Subject>[],
  subject: Subject,
  earlier: Decision = UNDECIDED,
): Decision {
  if (earlier.outcome === 'deny' || steps.length === 0) return earlier
  const verdicts = [...earlier.verdicts]
  let decisive = earlier.decisive
  for (const step of steps) {
    const current = { step: step.name, verdict: step.evaluate(subject) }
    verdicts.push(current)
    if (current.verdict.outcome === 'deny') return { outcome: 'deny', verdicts, decisive: current }
    if (current.verdict.outcome === 'ask') decisive ??= current
  }
  return decisive === undefined ? { outcome: 'allow', verdicts } : { outcome: 'ask', verdicts, decisive }
}

/**
 * Decides like `decide`, but reuses the last decision if all verdicts are the same objects as before. This is the case
 * for most calls.
 */
export function compileSteps<Subject>(
  steps: readonly Step<Subject>[],
): (subject: Subject, earlier: Decision) => Decision {
  const last = new WeakMap<Decision, CachedDecision>()
  return (subject, earlier) => {
    const cached = last.get(earlier)
    if (cached && steps.every(({ evaluate }, at) => evaluate(subject) === cached.verdicts[at])) return cached.decision
    const decision = decide(steps, subject, earlier)
    const newVerdicts = decision.verdicts.slice(earlier.verdicts.length)
    // After a denial the remaining steps did not run, so their verdicts are unknown.
    if (newVerdicts.length === steps.length)
      last.set(earlier, { verdicts: newVerdicts.map(({ verdict }) => verdict), decision })
    return decision
  }
}

interface CachedDecision {
  readonly verdicts: readonly Verdict[]
  readonly decision: Decision
}

/** The decision before any step has run. */
export const UNDECIDED: Decision = Object.freeze({ outcome: 'allow', verdicts: Object.freeze([]) })
