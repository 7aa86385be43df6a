import type { Json, JsonObject } from '../json/json.ts'
import type { RuleSource } from './decide.ts'
import type { IsolationFields } from './isolation-policy.ts'
import type { Mode } from './mode.ts'
import type { Permission } from './permission.ts'
import type { Sensitivity } from './sensitivity.ts'

export const RISK_LEVELS = ['low', 'medium', 'high'] as const
export type RiskLevel = (typeof RISK_LEVELS)[number]

/** What happens to a secret that is found in arguments or results. */
export type SecretHandling = 'refuse' | 'redact' | 'allow'

/** Strictest last. */
export const SECRET_HANDLINGS: readonly SecretHandling[] = ['allow', 'redact', 'refuse']

/** The rule for one argument of a tool. Patterns run in linear time. */
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
  /** Rules by argument name; dots lead into nested arguments. */
  readonly fields: Readonly<Record<string, ArgumentRule>>
  /** None of these patterns may match the arguments. */
  readonly denyPatterns: readonly string[]
}

/** The fields of a tools.yaml entry. A missing field was not written. */
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
  readonly sensitivity?: Sensitivity
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
  /** Not a key of the file: the problem of a misspelt key that was probably meant to isolate or restrict. */
  readonly misspelt?: string
}

export type PolicyField = keyof PolicyFields

/** One entry of tools.yaml. */
export interface ToolEntry {
  /** The name of the tool as written, in any of the allowed forms. */
  readonly key: string
  readonly line: number
  readonly fields: PolicyFields
  /** The line of each field. */
  readonly lines: Readonly<Partial<Record<PolicyField, number>>>
}

export interface ToolCategory {
  readonly line: number
  readonly description?: string
  readonly riskLevel?: RiskLevel
  readonly requiresApprovalInModes?: readonly Mode[]
}

/** The parsed tools.yaml. */
export interface ParsedToolsFile {
  readonly path: string
  readonly entries: readonly ToolEntry[]
  readonly categories: ReadonlyMap<string, ToolCategory>
  /** `allowedCategories` is missing if the policy does not list categories. */
  readonly modePolicies: ReadonlyMap<Mode, { readonly line: number; readonly allowedCategories?: readonly string[] }>
}

/** An effective value, the reason for it, and its source location if it is written in a file. */
export interface PolicyValue<Value> {
  readonly value: Value
  readonly reason: string
  readonly rule?: RuleSource
}
