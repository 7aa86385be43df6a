import { RISK_LEVELS, type RiskLevel } from '../policy/tools-file.ts'
import type { ToolDefinition } from '../tool.ts'
import type { Finding, FindingKind } from './finding.ts'
import { inferNameRisk } from './name-risk.ts'
import { findRiskSigns } from './risk-signs.ts'
import type { RiskTokens } from './risk-tokens.ts'

export interface RiskOptions {
  readonly tokens: RiskTokens
  readonly findings: readonly Finding[]
}

export interface InferredRisk {
  readonly level: RiskLevel
  /** Short, one line, without text of the server: it is written as a comment after the value. */
  readonly reason: string
}

const FINDING_WORDS: Readonly<Record<FindingKind, string>> = {
  hidden: 'hidden characters',
  padding: 'text pushed out of view',
  comment: 'text in hidden markup',
  encoded: 'encoded text',
  instruction: 'instructions to the model',
  preference: 'text that promotes it over other tools',
  exfiltration: 'a URL that sends data out',
  parameter: 'a parameter that asks for secrets',
  schema: 'a schema that cannot be checked',
  share: 'more tools than its server’s share',
  'other-tool': 'another server’s tool in its text',
  'remote-ref': 'a remote $ref',
}

/** These do not affect the risk of the tool. */
const HARMLESS: ReadonlySet<FindingKind> = new Set(['schema', 'share'])
/** These may be innocent, so they raise the risk by one level only. */
const MILD: ReadonlySet<FindingKind> = new Set(['other-tool', 'remote-ref', 'preference'])

/** Infers the risk of a tool from its definition. Everything except the name can only raise it (GOV-6, GOV-10). */
export function inferRisk(tool: ToolDefinition, { tokens, findings }: RiskOptions): InferredRisk {
  const named = inferRiskFromName(tool.name, tokens)
  const signed = findRiskSigns(tool, tokens).reduce((risk, { atLeast, why }) => raise(risk, atLeast, why), named)
  const finding = findings.find(({ kind }) => !HARMLESS.has(kind))
  if (finding === undefined) return signed
  const words = FINDING_WORDS[finding.kind]
  if (signed.level === 'high') return { level: 'high', reason: `${signed.reason}, and ${words}` }
  // Hidden text for the model is as bad as a tool that writes.
  const atLeast = MILD.has(finding.kind) ? oneAbove(signed.level) : 'high'
  return raise(signed, atLeast, words)
}

function inferRiskFromName(name: string, tokens: RiskTokens): InferredRisk {
  const { level, word } = inferNameRisk(name, tokens)
  return level === 'unknown' ? { level: 'medium', reason: 'no known verb' } : { level, reason: `"${word}"` }
}

function raise(risk: InferredRisk, atLeast: RiskLevel, why: string): InferredRisk {
  if (rank(risk.level) >= rank(atLeast)) return risk
  const [first = ''] = risk.reason.split(', but ')
  return { level: atLeast, reason: `${first}, but ${why}` }
}

const rank = (level: RiskLevel): number => RISK_LEVELS.indexOf(level)
const oneAbove = (level: RiskLevel): RiskLevel => RISK_LEVELS[rank(level) + 1] ?? 'high'
