import type { Json, JsonObject } from '../json/json.ts'
import type { RuleSource } from './decide.ts'
import type { IsolationFields } from './isolation-policy.ts'
import type { Mode } from './mode.ts'
import type { Permission } from './permission.ts'

export const RISK_LEVELS = ['low', 'medium', 'high'] as const
export type RiskLevel = (typeof RISK_LEVELS)[number]

/** What happens to a key or a token that is found where none should be. */
export type SecretHandling = 'refuse' | 'redact' | 'allow'

/** The strictest is the last. */
export const SECRET_HANDLINGS: readonly SecretHandling[] = ['allow', 'redact', 'refuse']

/** What one argument of a tool may be. Patterns are of the linear-time kind. */
export interface ArgumentRule {
  readonly const?: Json
  readonly enum?: readonly Json[]
  readonly pattern?: string
  readonly max?: number
  readonly min?: number
  readonly maxLength?: number
  readonly required?: boolean
  readonly forbidden?: boolean
}

export interface ArgumentRules {
  /** By the argument's name; dots lead into nested ones. */
  readonly fields: Readonly<Record<string, ArgumentRule>>
  /** None of these may be found in the arguments as one JSON text. */
  readonly denyPatterns: readonly string[]
}

/** What an entry of tools.yaml may say, as it says it: a field that is absent was not written. */
export interface PolicyFields {
  readonly category?: string
  readonly permission?: readonly Permission[]
  readonly riskLevel?: RiskLevel
  readonly requiresApproval?: boolean
  readonly requiresApprovalInModes?: readonly Mode[]
  readonly allowedInModes?: readonly Mode[]
  readonly forbiddenInModes?: readonly Mode[]
  readonly allowedPaths?: readonly string[]
  readonly forbiddenPaths?: readonly string[]
  readonly unattendedPaths?: readonly string[]
  readonly pathArguments?: readonly string[]
  readonly sensitivity?: string
  readonly isolated?: boolean | IsolationFields
  readonly result?: string | JsonObject
  readonly timeoutSeconds?: number
  readonly rateLimitPerMinute?: number
  readonly maxConcurrent?: number
  readonly descriptionOverride?: string
  readonly rename?: string
  readonly hidden?: boolean
  readonly essential?: boolean
  readonly enforce?: boolean
  readonly secrets?: SecretHandling
  readonly sensitivePaths?: readonly string[]
  readonly arguments?: ArgumentRules
  readonly pin?: string
  readonly note?: string
  /** No key of its own: what is wrong with one that was probably meant to isolate or restrict. */
  readonly misspelt?: string
}

export type PolicyField = keyof PolicyFields

/** One entry of tools.yaml. */
export interface ToolEntry {
  /** As it is written: any of the forms in which a tool can be named. */
  readonly key: string
  readonly line: number
  readonly fields: PolicyFields
  /** Where each field stands. */
  readonly lines: Readonly<Partial<Record<PolicyField, number>>>
}

export interface ToolCategory {
  readonly line: number
  readonly description?: string
  readonly riskLevel?: RiskLevel
  readonly requiresApprovalInModes?: readonly Mode[]
}

/** tools.yaml, read. */
export interface ParsedToolsFile {
  readonly path: string
  readonly entries: readonly ToolEntry[]
  readonly categories: ReadonlyMap<string, ToolCategory>
  /** Undefined where a policy does not say which categories it leaves. */
  readonly modePolicies: ReadonlyMap<Mode, { readonly line: number; readonly allowedCategories?: readonly string[] }>
}

/** A value in force, why it is this one, and where that is written if it is written anywhere. */
export interface PolicyValue<Value> {
  readonly value: Value
  readonly reason: string
  readonly rule?: RuleSource
}
