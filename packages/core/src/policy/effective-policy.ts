import type { JsonObject } from '../json/json.ts'
import type { RuleSource } from './decide.ts'
import type { IsolationFields } from './isolation-policy.ts'
import type { Mode } from './mode.ts'
import { PERMISSIONS, type Permission } from './permission.ts'
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

/** Everything that governs one tool, each value with why it is this one. */
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
  /** Why nobody may call it until an entry is corrected. */
  readonly misspelt: PolicyValue<string> | undefined
  readonly enforce: PolicyValue<boolean>
  readonly secrets: PolicyValue<SecretHandling>
  /** Each list has to allow a path. */
  readonly allowedPaths: readonly PolicyValue<readonly string[]>[]
  readonly forbiddenPaths: readonly PolicyValue<readonly string[]>[]
  readonly unattendedPaths: readonly string[]
  readonly pathArguments: readonly string[] | undefined
  /** All of them hold. */
  readonly arguments: readonly PolicyValue<ArgumentRules>[]
  readonly timeoutSeconds: PolicyValue<number> | undefined
  readonly rateLimitPerMinute: PolicyValue<number> | undefined
  readonly maxConcurrent: PolicyValue<number> | undefined
  /** Undefined: as its server's entry has it. */
  readonly isolated: PolicyValue<boolean | IsolationFields> | undefined
  /** A preset, by name or as itself. */
  readonly result: PolicyValue<string | JsonObject> | undefined
  readonly descriptionOverride: PolicyValue<string> | undefined
  readonly rename: PolicyValue<string> | undefined
  /** The definition has to be what each of them says. */
  readonly pin: readonly PolicyValue<string>[]
}

/** Fields that somebody wrote, and where. */
export interface SourcedFields {
  readonly fields: PolicyFields
  readonly locateRule: (field: PolicyField) => RuleSource
}

export interface PolicySources {
  /** Of tools.yaml. Where several name one tool, the stricter value of each field wins. */
  readonly entries: readonly SourcedFields[]
  /** Of config.yaml, behind what the entries say. */
  readonly patterns: readonly SourcedFields[]
  readonly inferred: {
    readonly category: string
    readonly risk: Omit<PolicyValue<RiskLevel>, 'rule'>
    readonly permission: Omit<PolicyValue<readonly Permission[]>, 'rule'>
  }
  readonly defaults: Readonly<
    Record<RiskLevel, { readonly allowedInModes: readonly Mode[]; readonly requiresApproval: boolean }>
  >
  /** Whether rules are enforced where no entry says so. */
  readonly enforce: boolean
}

export function resolvePolicy({ entries, patterns, inferred, defaults, enforce }: PolicySources): ToolPolicy {
  const ruled = mergePolicyValues(entries, patterns)
  const risk = pickStrictest(ruled.riskLevel, byRiskLevel) ?? inferred.risk
  const byRisk = defaults[risk.value]
  const reason = REASONS[risk.value]
  return {
    category: pickStrictest(ruled.category) ?? { value: inferred.category, reason: 'where it comes from' },
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
    isolated: pickStrictest(ruled.isolated, byIsolation),
    result: pickStrictest(ruled.result),
    descriptionOverride: pickStrictest(ruled.descriptionOverride),
    rename: pickStrictest(ruled.rename),
    pin: ruled.pin ?? EMPTY_LIST,
  }
}

const byRiskLevel = (level: RiskLevel): number => RISK_LEVELS.indexOf(level)
const byDenial = (value: boolean): number => Number(!value)
const bySecretHandling = (value: SecretHandling): number => SECRET_HANDLINGS.indexOf(value)
const byIsolation = (value: boolean | IsolationFields): number => Number(value !== false)
const bySmallness = (value: number): number => -value

const EMPTY_LIST: readonly never[] = Object.freeze([])

// Made once: there are thousands of tools, and most entries leave most unsaid.
const defaultValue = <Value>(value: Value): PolicyValue<Value> =>
  Object.freeze({ value, reason: 'nothing else is said' })
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

/** The strictest one; without a measure the first. */
function pickStrictest<Value>(
  all: readonly PolicyValue<Value>[] | undefined,
  strictness: (value: Value) => number = () => 0,
): PolicyValue<Value> | undefined {
  return all?.reduce((chosen, next) => (strictness(chosen.value) >= strictness(next.value) ? chosen : next))
}

/** What widens nothing can be taken from one place only. */
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

/** What stands in tools.yaml and, where that is silent about a field, in config.yaml. */
const mergePolicyValues = (entries: readonly SourcedFields[], patterns: readonly SourcedFields[]): PolicyValues => ({
  ...collectPolicyValues(patterns),
  ...collectPolicyValues(entries),
})

/** By what is there and not by what could be: most say little of all that can be said. */
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
