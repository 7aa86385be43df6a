import {
  ALLOW,
  type ArgumentRules,
  type CallRoots,
  checkSecrets,
  compareSensitivity,
  compileArgumentRules,
  compileNameGlob,
  compilePathMatcher,
  compilePathRules,
  excerpt,
  type FoundPath,
  formatFinding,
  type JsonObject,
  type Mode,
  type ModeRules,
  type PathContext,
  type PolicyValue,
  type Principal,
  quoteForShell,
  type RuleSource,
  resolveApproval,
  type SensitivityRule,
  type ToolPolicy,
  type Verdict,
} from '@sallyport/core'
import { type Offer, reviewName } from '../../catalog/catalog.ts'
import type { AutoApproval } from '../../config/config.ts'
import { compilePattern, type PrivateDataset } from '../../governance/governance.ts'
import type { ShapingRules } from '../../isolation/isolation.ts'
import type { CallLimit } from '../../upstream/upstream.ts'
import { type Call, isAboutTask } from '../call.ts'
import { collectPaths } from '../steps/collect-paths.ts'
import type { OpenFindings } from './policies.ts'

/** A policy that is compiled for calls. */
export interface ToolRules {
  /** The name in records and entries; for offers that are not tools, the method. Limits count under this name. */
  readonly name: string
  readonly policy: ToolPolicy
  readonly mode: Mode
  /** The timeout of a call; `undefined` if no entry sets one. */
  readonly limit: CallLimit | undefined
  /** Which part of its results is returned. */
  readonly shaping: ShapingRules
  /** Whether a call needs approval in the current mode. */
  readonly approval: PolicyValue<boolean>
  /** Whether the decision depends on paths. */
  readonly dependsOnPaths: boolean
  /** Whether somebody accepted that its arguments cannot be checked. */
  readonly isSchemaAccepted: boolean
  /** Checks paths, rules for arguments, and secrets. */
  readonly checkArguments: (call: Call) => Verdict
  /** How sensitive its data is; `undefined` if no rule says that this call reads private data. */
  readonly findSensitivity: (call: Call) => FoundSensitivity | undefined
  /** Why this call needs no approval, although the tool does; `undefined` if it needs one. */
  readonly findAutoApproval: (call: Call) => Omit<PolicyValue<true>, 'value'> | undefined
}

export interface FoundSensitivity {
  readonly dataset: PrivateDataset
  readonly reason: string
  readonly rule?: RuleSource | undefined
}

export interface RuleSources {
  readonly offer: Offer
  readonly policy: ToolPolicy
  readonly state: ModeRules
  /** Every name by which people may write it. */
  readonly names: readonly string[]
  /** How its paths are resolved. */
  readonly world: PathContext
  /** The roots that the client of a call gave to its server. */
  readonly rootsOf: (call: Call) => readonly string[]
  readonly autoApprove: readonly AutoApproval[]
  readonly shaping: ShapingRules
  /** What the server's entry says about its data. */
  readonly serverSensitivity?: PolicyValue<SensitivityRule> | undefined
  /** Findings in its definition that nobody has accepted. */
  readonly openFindings: OpenFindings
}

export function compileToolRules(sources: RuleSources): ToolRules {
  const { policy, state, offer, names, shaping, openFindings } = sources
  const name = names[0] ?? offer.recordName
  return {
    name,
    policy,
    mode: state.mode,
    limit: toCallLimit(policy, name),
    shaping,
    dependsOnPaths: dependsOnPaths(sources),
    approval: approvalOfFindings(offer, openFindings) ?? explainApproval(policy, state),
    isSchemaAccepted: openFindings.isSchemaAccepted,
    checkArguments: compileArguments(sources),
    findSensitivity: compileSensitivity(sources),
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

/** Findings are the first reason: the person who is asked has to know them. */
function approvalOfFindings(offer: Offer, { list: [first, ...others] }: OpenFindings): PolicyValue<true> | undefined {
  if (first === undefined) return undefined
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  const accept = `sallyport tools accept ${quoteForShell(reviewName(offer))}`
  const reason = `A person has to approve it: its definition was found suspicious (${formatFinding(first)}${more}). To stop being asked, accept it: ${accept}`
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

/** The arguments that the server would get, to which rules apply. */
export const argumentsOf = ({ offer, params }: Pick<Call, 'offer' | 'params'>): JsonObject => {
  if (offer.kind === 'tool') return (params.arguments ?? NOTHING) as JsonObject
  const { _meta, ...asked } = params
  return asked
}

const NOTHING: JsonObject = Object.freeze({})

type CallCheck = (call: Call) => Verdict

/** The arguments, with a modern client's answers to questions, which it sends when it repeats the call. */
const collectInputs = (call: Call): JsonObject => {
  const { inputResponses } = call.params
  const given = argumentsOf(call)
  return inputResponses === undefined || call.offer.kind !== 'tool' ? given : { ...given, inputResponses }
}

function compileArguments({ offer, policy, world, rootsOf }: RuleSources): CallCheck {
  const checks: CallCheck[] = []
  // A question comes from the server, like a result: secrets are removed from it, not refused.
  if (policy.secrets.value === 'refuse' && offer.kind !== 'question')
    checks.push((call) => checkSecrets(collectInputs(call)))
  const pathChecks = [
    ...policy.forbiddenPaths.map((forbiddenPaths) => compilePathRules({ forbiddenPaths }, world)),
    ...policy.allowedPaths.map((allowedPaths) => compilePathRules({ allowedPaths }, world)),
  ]
  if (pathChecks.length > 0) {
    checks.push((call) => {
      const found = collectPaths(call, policy.pathArguments)
      if (found.length === 0) return ALLOW
      const bases = { roots: rootsOf(call) }
      return findFirstDenial(pathChecks, (check) => check(found, bases))
    })
  }
  for (const { value, rule } of policy.arguments) {
    const check = compileArgumentRules(value, { compilePattern, locateRule: () => rule })
    // A call about a task has no arguments: they came with the call that created it.
    checks.push((call) => (isAboutTask(call) ? ALLOW : check(argumentsOf(call))))
  }
  const [only, ...others] = checks
  if (only === undefined) return () => ALLOW
  return others.length === 0 ? only : (call) => findFirstDenial(checks, (check) => check(call))
}

function findFirstDenial<Rule>(rules: readonly Rule[], check: (rule: Rule) => Verdict): Verdict {
  for (const rule of rules) {
    const verdict = check(rule)
    if (verdict !== ALLOW) return verdict
  }
  return ALLOW
}

/** The highest sensitivity of all rules that the call meets. */
function compileSensitivity({
  offer,
  policy,
  world,
  rootsOf,
  serverSensitivity,
}: RuleSources): ToolRules['findSensitivity'] {
  const own = policy.sensitivity.map((one) => ({ ...one, subject: `${offer.server}/${offer.name}` }))
  const all = serverSensitivity ? [...own, { ...serverSensitivity, subject: offer.server }] : own
  if (all.length === 0) return () => undefined
  const sorted = all.toSorted((one, other) => compareSensitivity(other.value.sensitivity, one.value.sensitivity))
  const rules = sorted.map(({ value: { sensitivity, paths }, subject, rule }) => {
    const name = paths === undefined ? subject : `${offer.server}: ${excerpt(paths.join(', '), 100)}`
    const reason = paths === undefined ? `${subject} is ${sensitivity}` : `a path matches sensitive_paths of ${subject}`
    const found: FoundSensitivity = { dataset: { name, sensitivity }, reason, rule }
    const check = paths && compilePathRules({ forbiddenPaths: { value: paths, reason, ...(rule && { rule }) } }, world)
    return { found, check }
  })
  const [first, ...others] = rules
  if (first !== undefined && first.check === undefined) return () => first.found
  return (call) => {
    const found = collectPaths(call, policy.pathArguments)
    const bases = { roots: rootsOf(call) }
    // A path that cannot be resolved with certainty counts as one that matches.
    return [first, ...others].find(
      (rule) => rule?.check === undefined || (found.length > 0 && rule.check(found, bases) !== ALLOW),
    )?.found
  }
}

/** There is no automatic approval in a lockdown, or while findings in the definition are not accepted. */
function compileAutoApproval(sources: RuleSources): ToolRules['findAutoApproval'] {
  const { policy, state, names, world, autoApprove, rootsOf, openFindings } = sources
  if (state.mode === 'LOCKDOWN' || openFindings.list.length > 0) return () => undefined
  const isUnattended = policy.unattendedPaths.length > 0 ? compilePathMatcher(policy.unattendedPaths, world) : undefined
  const approving = autoApprove
    .filter(({ tool }) => names.some(compileNameGlob(tool)))
    .map((rule) => compileAutoApproveRule(rule, world))
  if (isUnattended === undefined && approving.length === 0) return () => undefined
  return (call) => {
    const found = collectPaths(call, policy.pathArguments)
    const bases = { roots: rootsOf(call) }
    if (isUnattended?.(found, bases)) return { reason: 'all of its paths are in unattended_paths' }
    const rule = approving.find(({ matches }) => matches(call, found, bases))?.rule
    return rule && { reason: 'governance.auto_approve matches', rule: rule.location }
  }
}

/** Automatic approval needs the actual value: for a missing argument the server chooses its own default. */
function requireAllFields({ fields, denyPatterns }: ArgumentRules): ArgumentRules {
  const required = Object.entries(fields).map(([name, field]) => [name, { ...field, required: !field.forbidden }])
  return { fields: Object.fromEntries(required), denyPatterns }
}

function compileAutoApproveRule(rule: AutoApproval, world: PathContext) {
  const covers = rule.paths && compilePathMatcher(rule.paths, world)
  const check = rule.arguments && compileArgumentRules(requireAllFields(rule.arguments), { compilePattern })
  const matches = (call: Call, found: readonly FoundPath[], bases: CallRoots): boolean =>
    isFor(rule, call.principal) &&
    (covers?.(found, bases) ?? true) &&
    (check === undefined || check(argumentsOf(call)) === ALLOW)
  return { rule, matches }
}

/** A caller that only claims to be an agent, by its URL, gets no automatic approval for that agent. */
function isFor(rule: AutoApproval, { agent, profile, isClaimed }: Principal): boolean {
  if (rule.agent === undefined && rule.profile === undefined) return true
  return !isClaimed && (rule.agent ?? agent) === agent && (rule.profile ?? profile) === profile
}
