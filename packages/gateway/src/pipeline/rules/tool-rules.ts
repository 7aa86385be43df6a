import {
  ALLOW,
  type ArgumentRules,
  type CallRoots,
  checkSecrets,
  compileArgumentRules,
  compileNameGlob,
  compilePathMatcher,
  compilePathRules,
  type FoundPath,
  formatFinding,
  type JsonObject,
  type Mode,
  type ModeRules,
  type PathContext,
  type PolicyValue,
  type Principal,
  quoteForShell,
  resolveApproval,
  type ToolPolicy,
  type Verdict,
} from '@sallyport/core'
import { type Offer, reviewName } from '../../catalog/catalog.ts'
import type { AutoApproval } from '../../config/config.ts'
import { compilePattern } from '../../governance/governance.ts'
import type { ShapingRules } from '../../isolation/isolation.ts'
import type { CallLimit } from '../../upstream/upstream.ts'
import { type Call, isAboutTask } from '../call.ts'
import { collectPaths } from '../steps/collect-paths.ts'
import type { Doubts } from './policies.ts'

/** A policy made ready for calls: what can be compiled once is. */
export interface ToolRules {
  /** As records and entries write it; of what is not a tool, its method. Limits count by it. */
  readonly name: string
  readonly policy: ToolPolicy
  readonly mode: Mode
  /** How long a call may take, where an entry says so. */
  readonly limit: CallLimit | undefined
  /** What goes back of its results. */
  readonly shaping: ShapingRules
  /** Whether somebody has to be asked, in the mode that is in force. */
  readonly approval: PolicyValue<boolean>
  /** Whether anything about a call hangs on where its paths lead. */
  readonly dependsOnPaths: boolean
  /** Whether somebody accepted that its arguments cannot be checked. */
  readonly isSchemaAccepted: boolean
  /** Paths, rules for arguments, secrets. */
  readonly checkArguments: (call: Call) => Verdict
  /** Why nobody has to be asked about this call, though the tool needs approval. */
  readonly findAutoApproval: (call: Call) => Omit<PolicyValue<true>, 'value'> | undefined
}

export interface RuleSources {
  readonly offer: Offer
  readonly policy: ToolPolicy
  readonly state: ModeRules
  /** Every way to write its name. */
  readonly names: readonly string[]
  /** Where its paths lead. */
  readonly world: PathContext
  /** The roots that the client of a call gave to its server. */
  readonly rootsOf: (call: Call) => readonly string[]
  readonly autoApprove: readonly AutoApproval[]
  readonly shaping: ShapingRules
  /** What of its definition nobody has accepted. */
  readonly doubts: Doubts
}

export function compileToolRules(sources: RuleSources): ToolRules {
  const { policy, state, offer, names, shaping, doubts } = sources
  const name = names[0] ?? offer.recordName
  return {
    name,
    policy,
    mode: state.mode,
    limit: toCallLimit(policy, name),
    shaping,
    dependsOnPaths: dependsOnPaths(sources),
    approval: approvalOfDoubts(offer, doubts) ?? explainApproval(policy, state),
    isSchemaAccepted: doubts.isSchemaAccepted,
    checkArguments: compileArguments(sources),
    findAutoApproval: compileAutoApproval(sources),
  }
}

const dependsOnPaths = ({ policy, autoApprove }: RuleSources): boolean =>
  policy.forbiddenPaths.length + policy.allowedPaths.length + policy.unattendedPaths.length > 0 ||
  autoApprove.some(({ paths }) => paths !== undefined)

function toCallLimit({ timeoutSeconds }: ToolPolicy, name: string): CallLimit | undefined {
  if (timeoutSeconds === undefined) return undefined
  const { value, rule } = timeoutSeconds
  return { timeout: value * 1_000, setBy: `timeout_seconds of ${name}${rule ? ` (${rule.file}:${rule.line})` : ''}` }
}

/** What was found in its definition comes first: it is what the person has to know who is asked. */
function approvalOfDoubts(offer: Offer, { open: [first, ...others] }: Doubts): PolicyValue<true> | undefined {
  if (first === undefined) return undefined
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  const accept = `sallyport tools accept ${quoteForShell(reviewName(offer))}`
  const reason = `A person has to approve it: its definition was found suspicious (${formatFinding(first)}${more}). To be asked no more, accept it: ${accept}`
  return { value: true, reason }
}

function explainApproval(policy: ToolPolicy, state: ModeRules): PolicyValue<boolean> {
  const needed = resolveApproval(policy, state)
  if (needed !== policy.requiresApproval) return needed
  const { risk } = policy
  const rule = needed.rule ?? risk.rule
  const why = needed.rule ? `its entry says requires_approval: ${needed.value}` : `${needed.reason} (${risk.reason})`
  const reason = needed.value ? `A person has to approve it: ${why}.` : `no approval is needed: ${why}`
  return { value: needed.value, reason, ...(rule && { rule }) }
}

/** What the server would get, as the thing that rules are about. */
export const argumentsOf = ({ offer, params }: Pick<Call, 'offer' | 'params'>): JsonObject => {
  if (offer.kind === 'tool') return (params.arguments ?? NOTHING) as JsonObject
  const { _meta, ...asked } = params
  return asked
}

const NOTHING: JsonObject = Object.freeze({})

type CallCheck = (call: Call) => Verdict

/** A modern client answers a server's questions with the call that it makes again. */
const collectInputs = (call: Call): JsonObject => {
  const { inputResponses } = call.params
  const given = argumentsOf(call)
  return inputResponses === undefined || call.offer.kind !== 'tool' ? given : { ...given, inputResponses }
}

function compileArguments({ offer, policy, world, rootsOf }: RuleSources): CallCheck {
  const judges: CallCheck[] = []
  // What a server asks of a client comes from the server, as a result does: there secrets are taken out.
  if (policy.secrets.value === 'refuse' && offer.kind !== 'question')
    judges.push((call) => checkSecrets(collectInputs(call)))
  const fences = [
    ...policy.forbiddenPaths.map((forbiddenPaths) => compilePathRules({ forbiddenPaths }, world)),
    ...policy.allowedPaths.map((allowedPaths) => compilePathRules({ allowedPaths }, world)),
  ]
  if (fences.length > 0) {
    judges.push((call) => {
      const found = collectPaths(call, policy.pathArguments)
      if (found.length === 0) return ALLOW
      const bases = { roots: rootsOf(call) }
      return findFirstDenial(fences, (fence) => fence(found, bases))
    })
  }
  for (const { value, rule } of policy.arguments) {
    const judge = compileArgumentRules(value, { compilePattern, locateRule: () => rule })
    // What looks after a task has none: they came with the call that made it.
    judges.push((call) => (isAboutTask(call) ? ALLOW : judge(argumentsOf(call))))
  }
  const [only, ...others] = judges
  if (only === undefined) return () => ALLOW
  return others.length === 0 ? only : (call) => findFirstDenial(judges, (judge) => judge(call))
}

function findFirstDenial<Rule>(rules: readonly Rule[], judge: (rule: Rule) => Verdict): Verdict {
  for (const rule of rules) {
    const verdict = judge(rule)
    if (verdict !== ALLOW) return verdict
  }
  return ALLOW
}

/** In a lockdown nothing spares anybody, nor where nobody has accepted what was found in the definition. */
function compileAutoApproval(sources: RuleSources): ToolRules['findAutoApproval'] {
  const { policy, state, names, world, autoApprove, rootsOf, doubts } = sources
  if (state.mode === 'LOCKDOWN' || doubts.open.length > 0) return () => undefined
  const isUnattended = policy.unattendedPaths.length > 0 ? compilePathMatcher(policy.unattendedPaths, world) : undefined
  const sparing = autoApprove
    .filter(({ tool }) => names.some(compileNameGlob(tool)))
    .map((rule) => compileAutoApproveRule(rule, world))
  if (isUnattended === undefined && sparing.length === 0) return () => undefined
  return (call) => {
    const found = collectPaths(call, policy.pathArguments)
    const bases = { roots: rootsOf(call) }
    if (isUnattended?.(found, bases)) return { reason: 'all of its paths are in unattended_paths' }
    const rule = sparing.find(({ spares }) => spares(call, found, bases))?.rule
    return rule && { reason: 'governance.auto_approve spares it', rule: rule.place }
  }
}

/** What spares a person has to be seen: an argument that is left out is whatever its server takes it for. */
function requireAllFields({ fields, denyPatterns }: ArgumentRules): ArgumentRules {
  const required = Object.entries(fields).map(([name, field]) => [name, { ...field, required: !field.forbidden }])
  return { fields: Object.fromEntries(required), denyPatterns }
}

function compileAutoApproveRule(rule: AutoApproval, world: PathContext) {
  const covers = rule.paths && compilePathMatcher(rule.paths, world)
  const judge = rule.arguments && compileArgumentRules(requireAllFields(rule.arguments), { compilePattern })
  const spares = (call: Call, found: readonly FoundPath[], bases: CallRoots): boolean =>
    isFor(rule, call.principal) &&
    (covers?.(found, bases) ?? true) &&
    (judge === undefined || judge(argumentsOf(call)) === ALLOW)
  return { rule, spares }
}

/** Whoever only claims to be an agent, by the URL, is spared nothing that is meant for it. */
function isFor(rule: AutoApproval, { agent, profile, isClaimed }: Principal): boolean {
  if (rule.agent === undefined && rule.profile === undefined) return true
  return !isClaimed && (rule.agent ?? agent) === agent && (rule.profile ?? profile) === profile
}
