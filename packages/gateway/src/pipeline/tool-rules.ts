import {
  ALLOW,
  type ArgumentRules,
  approvalNeeded,
  type CallBases,
  compileArgumentRules,
  compilePathCover,
  compilePathRules,
  type FoundPath,
  findingText,
  type JsonObject,
  judgeSecrets,
  type Mode,
  type ModeState,
  nameGlob,
  type PathWorld,
  type Principal,
  type Ruled,
  shellWord,
  type ToolPolicy,
  type Verdict,
} from '@sallyport/core'
import { type Offer, reviewName } from '../catalog/catalog.ts'
import type { AutoApproval } from '../config/config.ts'
import { compilePattern } from '../governance/governance.ts'
import type { ReturnRules } from '../isolation/isolation.ts'
import type { CallLimit } from '../upstream/upstream.ts'
import { type Call, isAboutTask } from './call.ts'
import { pathsOf } from './paths-of.ts'
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
  readonly returns: ReturnRules
  /** Whether somebody has to be asked, in the mode that is in force. */
  readonly approval: Ruled<boolean>
  /** Whether anything about a call hangs on where its paths lead. */
  readonly judgesPaths: boolean
  /** Whether somebody accepted that its arguments cannot be checked. */
  readonly isSchemaAccepted: boolean
  /** Paths, rules for arguments, secrets. */
  readonly judgeArguments: (call: Call) => Verdict
  /** Why nobody has to be asked about this call, though the tool needs approval. */
  readonly autoApproved: (call: Call) => Omit<Ruled<true>, 'value'> | undefined
}

export interface RuleSources {
  readonly offer: Offer
  readonly policy: ToolPolicy
  readonly state: ModeState
  /** Every way to write its name. */
  readonly names: readonly string[]
  /** Where its paths lead. */
  readonly world: PathWorld
  /** The roots that the client of a call gave to its server. */
  readonly rootsOf: (call: Call) => readonly string[]
  readonly autoApprove: readonly AutoApproval[]
  readonly returns: ReturnRules
  /** What of its definition nobody has accepted. */
  readonly doubts: Doubts
}

export function compileRules(sources: RuleSources): ToolRules {
  const { policy, state, offer, names, returns, doubts } = sources
  const name = names[0] ?? offer.recordName
  return {
    name,
    policy,
    mode: state.mode,
    limit: limitOf(policy, name),
    returns,
    judgesPaths: judgesPaths(sources),
    approval: approvalOfDoubts(offer, doubts) ?? approvalOf(policy, state),
    isSchemaAccepted: doubts.isSchemaAccepted,
    judgeArguments: compileArguments(sources),
    autoApproved: compileAutoApproval(sources),
  }
}

const judgesPaths = ({ policy, autoApprove }: RuleSources): boolean =>
  policy.forbiddenPaths.length + policy.allowedPaths.length + policy.unattendedPaths.length > 0 ||
  autoApprove.some(({ paths }) => paths !== undefined)

function limitOf({ timeoutSeconds }: ToolPolicy, name: string): CallLimit | undefined {
  if (timeoutSeconds === undefined) return undefined
  const { value, rule } = timeoutSeconds
  return { timeout: value * 1_000, setBy: `timeout_seconds of ${name}${rule ? ` (${rule.file}:${rule.line})` : ''}` }
}

/** What was found in its definition comes first: it is what the person has to know who is asked. */
function approvalOfDoubts(offer: Offer, { open: [first, ...others] }: Doubts): Ruled<true> | undefined {
  if (first === undefined) return undefined
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  const accept = `sallyport tools accept ${shellWord(reviewName(offer))}`
  const reason = `A person has to approve it: its definition was found suspicious (${findingText(first)}${more}). To be asked no more, accept it: ${accept}`
  return { value: true, reason }
}

function approvalOf(policy: ToolPolicy, state: ModeState): Ruled<boolean> {
  const needed = approvalNeeded(policy, state)
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

type Judge = (call: Call) => Verdict

/** A modern client answers a server's questions with the call that it makes again. */
const givenIn = (call: Call): JsonObject => {
  const { inputResponses } = call.params
  const given = argumentsOf(call)
  return inputResponses === undefined || call.offer.kind !== 'tool' ? given : { ...given, inputResponses }
}

function compileArguments({ offer, policy, world, rootsOf }: RuleSources): Judge {
  const judges: Judge[] = []
  // What a server asks of a client comes from the server, as a result does: there secrets are taken out.
  if (policy.secrets.value === 'refuse' && offer.kind !== 'question') judges.push((call) => judgeSecrets(givenIn(call)))
  const fences = [
    ...policy.forbiddenPaths.map((forbiddenPaths) => compilePathRules({ forbiddenPaths }, world)),
    ...policy.allowedPaths.map((allowedPaths) => compilePathRules({ allowedPaths }, world)),
  ]
  if (fences.length > 0) {
    judges.push((call) => {
      const found = pathsOf(call, policy.pathArguments)
      if (found.length === 0) return ALLOW
      const bases = { roots: rootsOf(call) }
      return firstFlaw(fences, (fence) => fence(found, bases))
    })
  }
  for (const { value, rule } of policy.arguments) {
    const judge = compileArgumentRules(value, { compilePattern, ruleOf: () => rule })
    // What looks after a task has none: they came with the call that made it.
    judges.push((call) => (isAboutTask(call) ? ALLOW : judge(argumentsOf(call))))
  }
  const [only, ...others] = judges
  if (only === undefined) return () => ALLOW
  return others.length === 0 ? only : (call) => firstFlaw(judges, (judge) => judge(call))
}

function firstFlaw<Rule>(rules: readonly Rule[], judge: (rule: Rule) => Verdict): Verdict {
  for (const rule of rules) {
    const verdict = judge(rule)
    if (verdict !== ALLOW) return verdict
  }
  return ALLOW
}

/** In a lockdown nothing spares anybody, nor where nobody has accepted what was found in the definition. */
function compileAutoApproval(sources: RuleSources): ToolRules['autoApproved'] {
  const { policy, state, names, world, autoApprove, rootsOf, doubts } = sources
  if (state.mode === 'LOCKDOWN' || doubts.open.length > 0) return () => undefined
  const isUnattended = policy.unattendedPaths.length > 0 ? compilePathCover(policy.unattendedPaths, world) : undefined
  const sparing = autoApprove
    .filter(({ tool }) => names.some(nameGlob(tool)))
    .map((rule) => compileSparing(rule, world))
  if (isUnattended === undefined && sparing.length === 0) return () => undefined
  return (call) => {
    const found = pathsOf(call, policy.pathArguments)
    const bases = { roots: rootsOf(call) }
    if (isUnattended?.(found, bases)) return { reason: 'all of its paths are in unattended_paths' }
    const rule = sparing.find(({ spares }) => spares(call, found, bases))?.rule
    return rule && { reason: 'governance.auto_approve spares it', rule: rule.place }
  }
}

/** What spares a person has to be seen: an argument that is left out is whatever its server takes it for. */
function spelledOut({ fields, denyPatterns }: ArgumentRules): ArgumentRules {
  const required = Object.entries(fields).map(([name, field]) => [name, { ...field, required: !field.forbidden }])
  return { fields: Object.fromEntries(required), denyPatterns }
}

function compileSparing(rule: AutoApproval, world: PathWorld) {
  const covers = rule.paths && compilePathCover(rule.paths, world)
  const judge = rule.arguments && compileArgumentRules(spelledOut(rule.arguments), { compilePattern })
  const spares = (call: Call, found: readonly FoundPath[], bases: CallBases): boolean =>
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
