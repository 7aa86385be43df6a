import type { JsonObject } from '../json/json.ts'
import type { RuleSource } from './decide.ts'
import type { IsolationFields } from './isolation-policy.ts'
import type { Mode } from './mode.ts'
import { PERMISSIONS, type Permission } from './permission.ts'
import { type SensitivityRule, toSensitivityRule } from './sensitivity.ts'
import {
  type ArgumentRules,
  type PolicyField,
  type PolicyFields,
  type PolicyValue,
  RISK_LEVELS,
  type RiskLevel,
  SECRET_HANDLINGS,
  type SecretHandling,
} from './tools-file.ts'

/** All policy values of one tool, each with the reason for it. */
export interface ToolPolicy {
  readonly category: PolicyValue<string>
  readonly permission: PolicyValue<readonly Permission[]>
  readonly risk: PolicyValue<RiskLevel>
  readonly requiresApproval: PolicyValue<boolean>
  readonly requiresApprovalInModes: PolicyValue<readonly Mode[]>
  readonly allowedInModes: PolicyValue<readonly Mode[]>
  readonly forbiddenInModes: PolicyValue<readonly Mode[]>
  readonly essential: PolicyValue<boolean>
  readonly hidden: PolicyValue<boolean>
  /** Why the tool cannot be called until an entry is corrected. */
  readonly misspelt: PolicyValue<string> | undefined
  readonly enforce: PolicyValue<boolean>
  readonly secrets: PolicyValue<SecretHandling>
  /** A path has to be allowed by every list. */
  readonly allowedPaths: readonly PolicyValue<readonly string[]>[]
  readonly forbiddenPaths: readonly PolicyValue<readonly string[]>[]
  readonly unattendedPaths: readonly string[]
  readonly pathArguments: readonly string[] | undefined
  /** All of them apply. */
  readonly arguments: readonly PolicyValue<ArgumentRules>[]
  readonly timeoutSeconds: PolicyValue<number> | undefined
  readonly rateLimitPerMinute: PolicyValue<number> | undefined
  readonly maxConcurrent: PolicyValue<number> | undefined
  /** All of them apply, besides that of the server's entry. */
  readonly sensitivity: readonly PolicyValue<SensitivityRule>[]
  /** `undefined`: the server's entry decides. */
  readonly isolated: PolicyValue<boolean | IsolationFields> | undefined
  /** A preset: its name or its settings. */
  readonly result: PolicyValue<string | JsonObject> | undefined
  readonly descriptionOverride: PolicyValue<string> | undefined
  readonly rename: PolicyValue<string> | undefined
  /** The definition has to match every pin. */
  readonly pin: readonly PolicyValue<string>[]
}

/** Fields of a file, with their source locations. */
export interface SourcedFields {
  readonly fields: PolicyFields
  readonly locateRule: (field: PolicyField) => RuleSource
}

export interface PolicySources {
  /** Entries of tools.yaml. If several match a tool, the strictest value of each field wins. */
  readonly entries: readonly SourcedFields[]
  /** Patterns of config.yaml. They apply to fields that no entry sets. */
  readonly patterns: readonly SourcedFields[]
  readonly inferred: {
    readonly category: string
    readonly risk: Omit<PolicyValue<RiskLevel>, 'rule'>
    readonly permission: Omit<PolicyValue<readonly Permission[]>, 'rule'>
  }
  readonly defaults: Readonly<
    Record<RiskLevel, { readonly allowedInModes: readonly Mode[]; readonly requiresApproval: boolean }>
  >
  /** Whether rules are enforced if no entry says so. */
  readonly enforce: boolean
}

export function resolvePolicy({ entries, patterns, inferred, defaults, enforce }: PolicySources): ToolPolicy {
  const ruled = mergePolicyValues(entries, patterns)
  const risk = pickStrictest(ruled.riskLevel, byRiskLevel) ?? inferred.risk
  const byRisk = defaults[risk.value]
  const reason = REASONS[risk.value]
  return {
    category: pickStrictest(ruled.category) ?? { value: inferred.category, reason: 'the source of the tool' },
    permission: union(ruled.permission, PERMISSIONS) ?? inferred.permission,
    risk,
    requiresApproval: pickStrictest(ruled.requiresApproval, Number) ?? { value: byRisk.requiresApproval, reason },
    requiresApprovalInModes: union(ruled.requiresApprovalInModes) ?? NO_MODES,
    allowedInModes: intersection(ruled.allowedInModes) ?? { value: byRisk.allowedInModes, reason },
    forbiddenInModes: union(ruled.forbiddenInModes) ?? NO_MODES,
    essential: pickStrictest(ruled.essential, byDenial) ?? DEFAULT_FALSE,
    hidden: pickStrictest(ruled.hidden, Number) ?? DEFAULT_FALSE,
    misspelt: pickStrictest(ruled.misspelt),
    enforce: pickStrictest(ruled.enforce, Number) ?? { value: enforce, reason: 'governance.enforce' },
    secrets: pickStrictest(ruled.secrets, bySecretHandling) ?? DEFAULT_REFUSE,
    allowedPaths: ruled.allowedPaths ?? EMPTY_LIST,
    forbiddenPaths: ruled.forbiddenPaths ?? EMPTY_LIST,
    unattendedPaths: onlyValue(ruled.unattendedPaths) ?? EMPTY_LIST,
    pathArguments: union(ruled.pathArguments)?.value,
    arguments: ruled.arguments ?? EMPTY_LIST,
    timeoutSeconds: pickStrictest(ruled.timeoutSeconds, bySmallness),
    rateLimitPerMinute: pickStrictest(ruled.rateLimitPerMinute, bySmallness),
    maxConcurrent: pickStrictest(ruled.maxConcurrent, bySmallness),
    sensitivity: collectSensitivity(entries) ?? collectSensitivity(patterns) ?? EMPTY_LIST,
    isolated: pickStrictest(ruled.isolated, byIsolation),
    result: pickStrictest(ruled.result),
    descriptionOverride: pickStrictest(ruled.descriptionOverride),
    rename: pickStrictest(ruled.rename),
    pin: ruled.pin ?? EMPTY_LIST,
  }
}

/** By entry, since its two fields belong together. `undefined` if none sets one of them. */
function collectSensitivity(layer: readonly SourcedFields[]): readonly PolicyValue<SensitivityRule>[] | undefined {
  let found: PolicyValue<SensitivityRule>[] | undefined
  for (const { fields, locateRule } of layer) {
    const value = toSensitivityRule(fields)
    if (value === undefined) continue
    const rule = locateRule(fields.sensitivity === undefined ? 'sensitivePaths' : 'sensitivity')
    found ??= []
    found.push({ value, reason: 'as written', rule })
  }
  return found
}

const byRiskLevel = (level: RiskLevel): number => RISK_LEVELS.indexOf(level)
const byDenial = (value: boolean): number => Number(!value)
const bySecretHandling = (value: SecretHandling): number => SECRET_HANDLINGS.indexOf(value)
const byIsolation = (value: boolean | IsolationFields): number => Number(value !== false)
const bySmallness = (value: number): number => -value

const EMPTY_LIST: readonly never[] = Object.freeze([])

// Created once: there are thousands of tools, and most entries set few fields.
const defaultValue = <Value>(value: Value): PolicyValue<Value> => Object.freeze({ value, reason: 'the default' })
const NO_MODES = defaultValue<readonly Mode[]>(EMPTY_LIST)
const DEFAULT_FALSE = defaultValue(false)
const DEFAULT_REFUSE = defaultValue<SecretHandling>('refuse')

const REASONS: Readonly<Record<RiskLevel, string>> = {
  low: 'the default for low risk',
  medium: 'the default for medium risk',
  high: 'the default for high risk',
}

type ValueOf<Field extends PolicyField> = NonNullable<PolicyFields[Field]>
type PolicyValues = { readonly [Field in PolicyField]?: readonly PolicyValue<ValueOf<Field>>[] }

/** The strictest value; without a measure, the first. */
function pickStrictest<Value>(
  all: readonly PolicyValue<Value>[] | undefined,
  strictness: (value: Value) => number = () => 0,
): PolicyValue<Value> | undefined {
  return all?.reduce((chosen, next) => (strictness(chosen.value) >= strictness(next.value) ? chosen : next))
}

/** A field that widens a policy is used only if a single entry sets it. */
function onlyValue<Value>([only, ...others]: readonly PolicyValue<Value>[] = []): Value | undefined {
  return others.length === 0 ? only?.value : undefined
}

function union<Item>(
  all: readonly PolicyValue<readonly Item[]>[] = [],
  order?: readonly Item[],
): PolicyValue<readonly Item[]> | undefined {
  const items = new Set(all.flatMap(({ value }) => value))
  return all[0] && { ...all[0], value: order ? order.filter((item) => items.has(item)) : [...items] }
}

function intersection<Item>(
  all: readonly PolicyValue<readonly Item[]>[] = [],
): PolicyValue<readonly Item[]> | undefined {
  const [shortest] = all.toSorted((a, b) => a.value.length - b.value.length)
  return (
    shortest && { ...shortest, value: shortest.value.filter((item) => all.every(({ value }) => value.includes(item))) }
  )
}

/** The values of tools.yaml and, for fields that it does not set, those of config.yaml. */
const mergePolicyValues = (entries: readonly SourcedFields[], patterns: readonly SourcedFields[]): PolicyValues => ({
  ...collectPolicyValues(patterns),
  ...collectPolicyValues(entries),
})

/** Iterates over the fields that are set, not over all possible ones: most entries set few. */
function collectPolicyValues(layer: readonly SourcedFields[]): PolicyValues {
  const ruled: Partial<Record<PolicyField, PolicyValue<unknown>[]>> = {}
  for (const { fields, locateRule } of layer) {
    for (const name of Object.keys(fields) as PolicyField[]) {
      const value = fields[name]
      if (value === undefined) continue
      const one = { value, reason: 'as written', rule: locateRule(name) }
      const others = ruled[name]
      if (others === undefined) ruled[name] = [one]
      else others.push(one)
    }
  }
  return ruled as PolicyValues
}
