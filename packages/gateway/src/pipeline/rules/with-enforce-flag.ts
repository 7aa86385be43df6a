import type { Step, ToolPolicy, Verdict } from '@sallyport/core'

const passing = new WeakMap<Verdict, Verdict>()

/** A step that only reports if `enforce` is false: what it would refuse is allowed, and recorded. */
export function withEnforceFlag<Subject>(
  step: Step<Subject>,
  policyOf: (subject: Subject) => ToolPolicy,
): Step<Subject> {
  return {
    name: step.name,
    evaluate: (subject) => {
      const verdict = step.evaluate(subject)
      return verdict.outcome === 'allow' || policyOf(subject).enforce.value ? verdict : toReportOnly(verdict)
    },
  }
}

function toReportOnly(would: Exclude<Verdict, { outcome: 'allow' }>): Verdict {
  const known = passing.get(would)
  if (known) return known
  const { reason, rule } = would
  const verdict: Verdict = { outcome: 'allow', reason: `not enforced: ${reason}`, ...(rule && { rule }), would }
  passing.set(would, verdict)
  return verdict
}
