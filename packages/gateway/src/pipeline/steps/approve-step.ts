import type { PolicyValue, Step, Verdict } from '@sallyport/core'
import { type Approvals, computePin, type Grant } from '../../governance/governance.ts'
import { approvalReason, approvalSubject } from '../approval-subject.ts'
import { type Call, isAboutTask } from '../call.ts'
import type { CallContext } from './call-context.ts'

/** Asks for approval if the rules require it, unless a rule or an earlier answer approves the call. */
export function approveStep(approvals: Pick<Approvals, 'grantFor'>): Step<CallContext> {
  return {
    name: 'approve',
    evaluate: (subject) => {
      const { rules, call, grant } = subject
      const isUnchecked = subject.checked.outcome === 'ask' && !rules.isSchemaAccepted
      if (!rules.approval.value && !isUnchecked) return allowWithoutApproval(rules.approval)
      if (grant && grant.definition !== computePin(call.offer)) return denyChangedDefinition(call)
      if (grant) return granted(`approved (${grant.scope}) by ${grant.by}`, rules.approval, grant)
      // A task exists because its call was approved; a request about the task is not a new call.
      if (isAboutTask(call) && rules.mode !== 'LOCKDOWN') return allowed('its task was approved', rules.approval)
      const auto = isUnchecked ? undefined : rules.findAutoApproval(call)
      if (auto) return allowed(auto.reason, auto)
      // In a lockdown, earlier approvals are not valid.
      const earlier = rules.mode === 'LOCKDOWN' ? undefined : approvals.grantFor(approvalSubject(subject))
      if (earlier) return granted(`approved for this session by ${earlier.by}`, rules.approval, earlier)
      return { outcome: 'ask', reason: approvalReason(subject), ...ruleOf(rules.approval) }
    },
  }
}

const verdicts = new WeakMap<PolicyValue<boolean>, Verdict>()

/** Returns the same object each time, so that equal decisions can be cached. */
function allowWithoutApproval(approval: PolicyValue<boolean>): Verdict {
  const known = verdicts.get(approval)
  if (known) return known
  const verdict = allowed(approval.reason, approval)
  verdicts.set(approval, verdict)
  return verdict
}

const allowed = (reason: string, { rule }: Pick<PolicyValue<boolean>, 'rule'>): Verdict => ({
  outcome: 'allow',
  reason,
  ...(rule && { rule }),
})

const granted = (reason: string, { rule }: PolicyValue<boolean>, { approval }: Grant): Verdict => ({
  ...{ outcome: 'allow', reason, approval },
  ...(rule && { rule }),
})

/** Pinned or not, nobody has reviewed the new definition: the person read another one. */
const denyChangedDefinition = ({ offer: { server, name } }: Call): Verdict => ({
  outcome: 'deny',
  code: 'DEFINITION_CHANGED',
  reason: `Server ${server} changed the definition of ${name} while the call waited for approval (definition_changed). The call was not made.`,
})

const ruleOf = ({ rule }: PolicyValue<boolean>) => (rule ? { rule } : {})
