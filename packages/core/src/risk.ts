import { judgeName } from './name-risk.ts'
import type { PoisonFinding, PoisonKind } from './poisoning.ts'
import { findRiskSigns } from './risk-signs.ts'
import type { RiskTokens } from './risk-tokens.ts'
import type { ToolDefinition } from './tool.ts'
import { RISK_LEVELS, type RiskLevel } from './tool-policy.ts'

export interface RiskOptions {
  readonly tokens: RiskTokens
  readonly findings: readonly PoisonFinding[]
}

export interface InferredRisk {
  readonly level: RiskLevel
  /** Short, on one line and in our own words: it stands as a comment behind the value. */
  readonly reason: string
}

const FINDING_WORDS: Readonly<Record<PoisonKind, string>> = {
  hidden: 'hidden characters',
  instruction: 'instructions to the model',
  'other-tool': 'another server’s tool in its text',
  'remote-ref': 'a remote $ref',
}

const DECEITFUL: ReadonlySet<PoisonKind> = new Set(['hidden', 'instruction'])

/** How risky a tool is, as far as its definition tells. Everything but the name can only raise it (GOV-6, GOV-10). */
export function inferRisk(tool: ToolDefinition, { tokens, findings }: RiskOptions): InferredRisk {
  const named = riskOfName(tool.name, tokens)
  const signed = findRiskSigns(tool, tokens).reduce((risk, { atLeast, why }) => raise(risk, atLeast, why), named)
  const [finding] = findings
  if (finding === undefined) return signed
  const words = FINDING_WORDS[finding.kind]
  if (signed.level === 'high') return { level: 'high', reason: `${signed.reason}, and ${words}` }
  // What speaks to the model behind a person's back is no better than a tool that writes.
  const atLeast = DECEITFUL.has(finding.kind) ? 'high' : oneAbove(signed.level)
  return raise(signed, atLeast, words)
}

function riskOfName(name: string, tokens: RiskTokens): InferredRisk {
  const { level, word } = judgeName(name, tokens)
  return level === 'untold' ? { level: 'medium', reason: 'no telling word' } : { level, reason: `"${word}"` }
}

function raise(risk: InferredRisk, atLeast: RiskLevel, why: string): InferredRisk {
  if (rank(risk.level) >= rank(atLeast)) return risk
  const [first = ''] = risk.reason.split(', but ')
  return { level: atLeast, reason: `${first}, but ${why}` }
}

const rank = (level: RiskLevel): number => RISK_LEVELS.indexOf(level)
const oneAbove = (level: RiskLevel): RiskLevel => RISK_LEVELS[rank(level) + 1] ?? 'high'
