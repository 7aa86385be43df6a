import { didYouMean, isLoopback, RISK_LEVELS, type RiskTokens } from '@sallyport/core'
import { DEFAULT_ESCALATION, DEFAULT_GOVERNANCE } from '../defaults.ts'
import type { IssueLog } from '../reading/issue-log.ts'
import type { ConfigNode } from '../reading/normalize.ts'
import type { PathStep } from '../reading/schema.ts'
import { readUrl } from '../servers/server-address.ts'
import type { AutoApproval, EscalationSettings, GovernanceSettings, PolicyPattern } from '../settings.ts'
import type { GovernanceSection } from './governance-schema.ts'
import { checkSharedSecret } from './jwt-section.ts'
import { type PolicyResult, readPolicyFields } from './policy-fields.ts'

interface SectionContext {
  readonly file: string
  readonly node: ConfigNode
  readonly log: IssueLog
}

export function readGovernance(section: GovernanceSection, report: SectionContext): GovernanceSettings {
  const enforce = section.enforce ?? DEFAULT_GOVERNANCE.enforce
  // A person who switched rules off for a test should be reminded of it at the next start.
  if (!enforce)
    report.log.warn(
      childOf(report, 'enforce').node,
      'rules are only watched: no call is refused or waits for approval.',
    )
  return {
    enforce,
    defaults: readDefaults(section.defaults ?? {}),
    riskTokens: readRiskTokens(section.riskTokens ?? {}, childOf(report, 'riskTokens')),
    patterns: readPatterns(section.patterns ?? {}, childOf(report, 'patterns')),
    approvalTimeout: section.approvalTimeout ?? DEFAULT_GOVERNANCE.approvalTimeout,
    autoApprove: (section.autoApprove ?? []).flatMap((rule, index) =>
      readAutoApproval(rule, childOf(childOf(report, 'autoApprove'), index)),
    ),
    approvalHook: section.approvalHook && readHook(section.approvalHook, childOf(report, 'approvalHook')),
    escalation: readEscalation(section.escalation ?? {}),
  }
}

const childOf = (report: SectionContext, step: PathStep): SectionContext => ({
  ...report,
  node: report.node.children.get(step) ?? report.node,
})

function readDefaults(given: NonNullable<GovernanceSection['defaults']>): GovernanceSettings['defaults'] {
  const { defaults } = DEFAULT_GOVERNANCE
  const [low, medium, high] = RISK_LEVELS.map((level) => ({ ...defaults[level], ...given[level] }))
  return { low: low ?? defaults.low, medium: medium ?? defaults.medium, high: high ?? defaults.high }
}

/** Fields that make sense only for a single tool. */
const SINGLE_TOOL_FIELDS = ['pin', 'rename', 'descriptionOverride'] as const

function readPatterns(patterns: Readonly<Record<string, unknown>>, report: SectionContext): readonly PolicyPattern[] {
  return Object.entries(patterns).map(([tool, value]) => {
    const inner = childOf(report, tool)
    const { fields } = readPolicy(value, [], inner)
    const own = SINGLE_TOOL_FIELDS.filter((field) => fields[field] !== undefined)
    for (const field of own)
      inner.log.error(inner.node, `"${field}" can only be set for one tool. Write it in tools.yaml.`)
    if (!couldMatch(tool)) inner.log.warn(inner.node, 'no tool name can match this pattern: all begin with "mcp__".')
    return { tool, fields, location: locationOf(inner) }
  })
}

/** Whether the part before the first wildcard can be the beginning of a canonical name. */
function couldMatch(pattern: string): boolean {
  const [head = ''] = pattern.split(/[*?]/)
  return 'mcp__'.startsWith(head.slice(0, 5))
}

/** Validates policy fields and logs their issues at `node`. `prefix` is the part of the paths above `node`. */
function readPolicy(value: unknown, prefix: readonly PathStep[], { node, log }: SectionContext): PolicyResult {
  const nodeAt = (path: readonly PathStep[]): ConfigNode =>
    path.slice(prefix.length).reduce((at: ConfigNode, step) => at.children.get(step) ?? at, node)
  const reading = readPolicyFields(value, (path) =>
    nodeAt(path).origin === 'variable' ? 'something else from a variable' : undefined,
  )
  for (const { path, problem, severity } of reading.issues) {
    const at = nodeAt(path)
    if (at.origin === 'unresolved') continue
    if (severity === 'error') log.error(at, problem)
    else log.warn(at, problem)
  }
  return reading
}

type AutoApprovalEntry = NonNullable<GovernanceSection['autoApprove']>[number]

function readAutoApproval(entry: AutoApprovalEntry, report: SectionContext): readonly AutoApproval[] {
  const { node, log } = report
  const { tool, agent, profile, paths } = entry
  if (tool === undefined) {
    log.error(node, 'expected "tool", a name or a pattern such as "mcp__files__read_*"; got none.')
    return []
  }
  const rules = entry.arguments
  const reading =
    rules === undefined ? undefined : readPolicy({ arguments: rules }, ['arguments'], childOf(report, 'arguments'))
  const isBound = [agent, profile, paths, rules].some((condition) => condition !== undefined)
  if (!isBound && /^(mcp__)?[*_]*\*$/.test(tool)) log.warn(node, 'this approves every call of every tool.')
  return [{ tool, agent, profile, paths, arguments: reading?.fields.arguments, location: locationOf(report) }]
}

const locationOf = ({ file, node, log }: SectionContext) => ({ file, line: log.lineOf(node) })

function readHook(
  { url, secret }: NonNullable<GovernanceSection['approvalHook']>,
  report: SectionContext,
): GovernanceSettings['approvalHook'] {
  const { node, log } = report
  if (url === undefined || secret === undefined) {
    log.error(node, `expected "url" and "secret"; got no "${url === undefined ? 'url' : 'secret'}".`)
    return undefined
  }
  const at = childOf(report, 'url').node
  if (at.origin !== 'unresolved') checkHookUrl(url, at, log)
  checkSharedSecret({ secret, variable: 'HOOK_SECRET' }, childOf(report, 'secret').node, log)
  return { url, secret }
}

function checkHookUrl(address: string, at: ConfigNode, log: IssueLog): void {
  const url = readUrl(address, at, log)
  if (url === undefined) return
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !isLoopback(hostname.replaceAll(/[[\]]/g, '')))
    log.error(at, 'expected an https address: approval requests contain the arguments of calls.')
}

function readEscalation(given: NonNullable<GovernanceSection['escalation']>): EscalationSettings {
  const { policyViolations, toolErrors, upstreamFlapping, auditFailing } = DEFAULT_ESCALATION
  return {
    policyViolations: mergeTrigger(given.policyViolations, policyViolations),
    toolErrors: mergeTrigger(given.toolErrors, toolErrors),
    upstreamFlapping: mergeTrigger(given.upstreamFlapping, upstreamFlapping),
    auditFailing: mergeTrigger(given.auditFailing, auditFailing),
  }
}

/** Fields that are not set get their defaults; `false` switches the trigger off. */
const mergeTrigger = <Given extends object, Default extends object>(
  given: Given | false | undefined,
  fallback: Default,
): (Default & Given) | Default | undefined => (given === false ? undefined : { ...fallback, ...given })

type GivenTokens = NonNullable<GovernanceSection['riskTokens']>

/** The built-in words plus the changes of the operator: `word` adds a word, `!word` removes one. */
function readRiskTokens(given: GivenTokens, report: SectionContext): RiskTokens {
  if (Object.keys(given).length === 0) return DEFAULT_GOVERNANCE.riskTokens
  const lists = {
    high: changeWords('high', given, report),
    low: changeWords('low', given, report),
    nouns: changeWords('nouns', given, report),
  }
  for (const [index, word] of (given.low ?? []).entries())
    if (lists.high.includes(word))
      report.log.warn(
        findWordNode('low', index, report),
        `"${word}" is also in the list "high", which takes precedence. Write "!${word}" there.`,
      )
  return lists
}

function changeWords(list: keyof RiskTokens, given: GivenTokens, report: SectionContext): readonly string[] {
  const words = new Set(DEFAULT_GOVERNANCE.riskTokens[list])
  for (const [index, word] of (given[list] ?? []).entries()) {
    if (!word.startsWith('!')) words.add(word)
    else if (!words.delete(word.slice(1)))
      report.log.warn(
        findWordNode(list, index, report),
        `this word is not in the list, so it cannot be removed.${didYouMean(word.slice(1), words)}`,
      )
  }
  return [...words]
}

const findWordNode = (list: keyof RiskTokens, index: number, { node }: SectionContext): ConfigNode =>
  node.children.get(list)?.children.get(index) ?? node
