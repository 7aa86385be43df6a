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
  /** Short, on one line and in our own words: it stands as a comment behind the value. */
  readonly reason: string
}

const FINDING_WORDS: Readonly<Record<FindingKind, string>> = {
  hidden: 'hidden characters',
  padding: 'text pushed out of view',
  comment: 'text in hidden markup',
  encoded: 'encoded text',
  instruction: 'instructions to the model',
  preference: 'praise of itself over other tools',
  exfiltration: 'an address that carries data away',
  parameter: 'a parameter that asks for secrets',
  schema: 'a schema that cannot be checked',
  share: 'more tools than its server’s share',
  'other-tool': 'another server’s tool in its text',
  'remote-ref': 'a remote $ref',
}

/** These say nothing about what the tool does. */
const HARMLESS: ReadonlySet<FindingKind> = new Set(['schema', 'share'])
/** Whoever does one of these on purpose hides something. */
const MILD: ReadonlySet<FindingKind> = new Set(['other-tool', 'remote-ref', 'preference'])

/** How risky a tool is, as far as its definition tells. Everything but the name can only raise it (GOV-6, GOV-10). */
export function inferRisk(tool: ToolDefinition, { tokens, findings }: RiskOptions): InferredRisk {
  const named = inferRiskFromName(tool.name, tokens)
  const signed = findRiskSigns(tool, tokens).reduce((risk, { atLeast, why }) => raise(risk, atLeast, why), named)
  const finding = findings.find(({ kind }) => !HARMLESS.has(kind))
  if (finding === undefined) return signed
  const words = FINDING_WORDS[finding.kind]
  if (signed.level === 'high') return { level: 'high', reason: `${signed.reason}, and ${words}` }
  // What speaks to the model behind a person's back is no better than a tool that writes.
  const atLeast = MILD.has(finding.kind) ? oneAbove(signed.level) : 'high'
  return raise(signed, atLeast, words)
}

function inferRiskFromName(name: string, tokens: RiskTokens): InferredRisk {
  const { level, word } = inferNameRisk(name, tokens)
  return level === 'untold' ? { level: 'medium', reason: 'no telling word' } : { level, reason: `"${word}"` }
}

function raise(risk: InferredRisk, atLeast: RiskLevel, why: string): InferredRisk {
  if (rank(risk.level) >= rank(atLeast)) return risk
  const [first = ''] = risk.reason.split(', but ')
  return { level: atLeast, reason: `${first}, but ${why}` }
}

const rank = (level: RiskLevel): number => RISK_LEVELS.indexOf(level)
const oneAbove = (level: RiskLevel): RiskLevel => RISK_LEVELS[rank(level) + 1] ?? 'high'
