import type { ErrorCode } from '../errors.ts'

/** Where a rule stands, so that a person can go and read it. */
export interface RuleSource {
  readonly file: string
  readonly line: number
}

export type Verdict =
  | {
      readonly outcome: 'allow'
      readonly reason?: string
      readonly rule?: RuleSource
      /** The approval that spared it the question. */
      readonly approval?: string
      /** What it would have been, were its rules enforced. */
      readonly would?: Exclude<Verdict, { outcome: 'allow' }>
    }
  | { readonly outcome: 'ask'; readonly reason: string; readonly rule?: RuleSource }
  | { readonly outcome: 'deny'; readonly code: ErrorCode; readonly reason: string; readonly rule?: RuleSource }

export const ALLOW: Verdict = Object.freeze({ outcome: 'allow' })

/** The order of judgement. Listing asks the first three, which depend on no call; calling asks all of them. */
export const STEP_NAMES = [
  'select',
  'mode',
  'pin',
  'validate',
  'permission',
  'label',
  'arguments',
  'limits',
  'approve',
] as const

export type StepName = (typeof STEP_NAMES)[number]

/** One small judgement. It sees the subject and can only take away from what the steps before it left. */
export interface Step<Subject> {
  readonly name: StepName
  readonly evaluate: (subject: Subject) => Verdict
  /** What it says of every subject, where it looks at none. */
  readonly constantVerdict?: Verdict
}

export interface StepVerdict {
  readonly step: StepName
  readonly verdict: Verdict
}

export interface Decision {
  readonly outcome: Verdict['outcome']
  readonly verdicts: readonly StepVerdict[]
  /** The step that decided, when the outcome is not `allow`. */
  readonly decisive?: StepVerdict
}

/** Asks every step in turn. The first `deny` ends it; an `ask` stands unless a later step denies. */
export function decide<Subject>(
  steps: readonly Step<Subject>[],
  subject: Subject,
  earlier: Decision = UNDECIDED,
): Decision {
  if (earlier.outcome === 'deny' || steps.length === 0) return earlier
  const verdicts = [...earlier.verdicts]
  let decisive = earlier.decisive
  for (const step of steps) {
    const judged = { step: step.name, verdict: step.evaluate(subject) }
    verdicts.push(judged)
    if (judged.verdict.outcome === 'deny') return { outcome: 'deny', verdicts, decisive: judged }
    if (judged.verdict.outcome === 'ask') decisive ??= judged
  }
  return decisive === undefined ? { outcome: 'allow', verdicts } : { outcome: 'ask', verdicts, decisive }
}

/**
 * Decides as `decide` does. Most calls meet the same verdicts as the one before, the very objects: their decision is
 * made once for each earlier one.
 */
export function compileSteps<Subject>(
  steps: readonly Step<Subject>[],
): (subject: Subject, earlier: Decision) => Decision {
  const looking = steps.filter(({ constantVerdict }) => constantVerdict === undefined)
  const last = new WeakMap<Decision, CachedDecision>()
  return (subject, earlier) => {
    const known = last.get(earlier)
    if (known && looking.every(({ evaluate }, at) => evaluate(subject) === known.verdicts[at])) return known.decision
    const decision = decide(steps, subject, earlier)
    const said = decision.verdicts.slice(earlier.verdicts.length)
    // After a denial nobody is asked any more: what those would have said is not known.
    if (said.length === steps.length) last.set(earlier, { verdicts: evaluatedVerdicts(steps, said), decision })
    return decision
  }
}

interface CachedDecision {
  readonly verdicts: readonly Verdict[]
  readonly decision: Decision
}

const evaluatedVerdicts = <Subject>(
  steps: readonly Step<Subject>[],
  said: readonly StepVerdict[],
): readonly Verdict[] => said.filter((_, at) => steps[at]?.constantVerdict === undefined).map(({ verdict }) => verdict)

/** A gate whose rules do not exist yet: it stands in its place in the order and lets everything pass. */
export function createPassThroughStep<Subject>(name: StepName): Step<Subject> {
  return { name, evaluate: () => PASS_THROUGH, constantVerdict: PASS_THROUGH }
}

const PASS_THROUGH: Verdict = Object.freeze({ outcome: 'allow', reason: 'no rules' })

/** Nothing has been asked yet. */
export const UNDECIDED: Decision = Object.freeze({ outcome: 'allow', verdicts: Object.freeze([]) })
