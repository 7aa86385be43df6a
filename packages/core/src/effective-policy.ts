import type { RuleSource } from './decide.ts'
import type { IsolationFields } from './isolation-policy.ts'
import type { JsonObject } from './json/json.ts'
import type { Mode } from './mode.ts'
import { PERMISSIONS, type Permission } from './permission.ts'
import {
  type ArgumentRules,
  type PolicyField,
  type PolicyFields,
  RISK_LEVELS,
  type RiskLevel,
  type Ruled,
  SECRECY,
  type SecretHandling,
} from './tool-policy.ts'

/** Everything that governs one tool, each value with why it is this one. */
export interface ToolPolicy {
  readonly category: Ruled<string>
  readonly permission: Ruled<readonly Permission[]>
  readonly risk: Ruled<RiskLevel>
  readonly requiresApproval: Ruled<boolean>
  readonly requiresApprovalInModes: Ruled<readonly Mode[]>
  readonly allowedInModes: Ruled<readonly Mode[]>
  readonly forbiddenInModes: Ruled<readonly Mode[]>
  readonly essential: Ruled<boolean>
  readonly hidden: Ruled<boolean>
  /** Why nobody may call it until an entry is corrected. */
  readonly misspelt: Ruled<string> | undefined
  readonly enforce: Ruled<boolean>
  readonly secrets: Ruled<SecretHandling>
  /** Each list has to allow a path. */
  readonly allowedPaths: readonly Ruled<readonly string[]>[]
  readonly forbiddenPaths: readonly Ruled<readonly string[]>[]
  readonly unattendedPaths: readonly string[]
  readonly pathArguments: readonly string[] | undefined
  /** All of them hold. */
  readonly arguments: readonly Ruled<ArgumentRules>[]
  readonly timeoutSeconds: Ruled<number> | undefined
  readonly rateLimitPerMinute: Ruled<number> | undefined
  readonly maxConcurrent: Ruled<number> | undefined
  /** Undefined: as its server's entry has it. */
  readonly isolated: Ruled<boolean | IsolationFields> | undefined
  /** A preset, by name or as itself. */
  readonly result: Ruled<string | JsonObject> | undefined
  readonly descriptionOverride: Ruled<string> | undefined
  readonly rename: Ruled<string> | undefined
  /** The definition has to be what each of them says. */
  readonly pin: readonly Ruled<string>[]
}

/** Fields that somebody wrote, and where. */
export interface WrittenFields {
  readonly fields: PolicyFields
  readonly ruleOf: (field: PolicyField) => RuleSource
}

export interface PolicySources {
  /** Of tools.yaml. Where several name one tool, the stricter value of each field wins. */
  readonly entries: readonly WrittenFields[]
  /** Of config.yaml, behind what the entries say. */
  readonly patterns: readonly WrittenFields[]
  readonly inferred: {
    readonly category: string
    readonly risk: Omit<Ruled<RiskLevel>, 'rule'>
    readonly permission: Omit<Ruled<readonly Permission[]>, 'rule'>
  }
  readonly defaults: Readonly<
    Record<RiskLevel, { readonly allowedInModes: readonly Mode[]; readonly requiresApproval: boolean }>
  >
  /** Whether rules are enforced where no entry says so. */
  readonly enforce: boolean
}

export function resolvePolicy({ entries, patterns, inferred, defaults, enforce }: PolicySources): ToolPolicy {
  const ruled = ruledFields(entries, patterns)
  const risk = choose(ruled.riskLevel, byRiskLevel) ?? inferred.risk
  const byRisk = defaults[risk.value]
  const reason = REASONS[risk.value]
  return {
    category: choose(ruled.category) ?? { value: inferred.category, reason: 'where it comes from' },
    permission: union(ruled.permission, PERMISSIONS) ?? inferred.permission,
    risk,
    requiresApproval: choose(ruled.requiresApproval, Number) ?? { value: byRisk.requiresApproval, reason },
    requiresApprovalInModes: union(ruled.requiresApprovalInModes) ?? NO_MODES,
    allowedInModes: intersection(ruled.allowedInModes) ?? { value: byRisk.allowedInModes, reason },
    forbiddenInModes: union(ruled.forbiddenInModes) ?? NO_MODES,
    essential: choose(ruled.essential, byDenial) ?? NO,
    hidden: choose(ruled.hidden, Number) ?? NO,
    misspelt: choose(ruled.misspelt),
    enforce: choose(ruled.enforce, Number) ?? { value: enforce, reason: 'governance.enforce' },
    secrets: choose(ruled.secrets, bySecrecy) ?? REFUSE,
    allowedPaths: ruled.allowedPaths ?? NOTHING,
    forbiddenPaths: ruled.forbiddenPaths ?? NOTHING,
    unattendedPaths: onlyValue(ruled.unattendedPaths) ?? NOTHING,
    pathArguments: union(ruled.pathArguments)?.value,
    arguments: ruled.arguments ?? NOTHING,
    timeoutSeconds: choose(ruled.timeoutSeconds, bySmallness),
    rateLimitPerMinute: choose(ruled.rateLimitPerMinute, bySmallness),
    maxConcurrent: choose(ruled.maxConcurrent, bySmallness),
    isolated: choose(ruled.isolated, byIsolation),
    result: choose(ruled.result),
    descriptionOverride: choose(ruled.descriptionOverride),
    rename: choose(ruled.rename),
    pin: ruled.pin ?? NOTHING,
  }
}

const byRiskLevel = (level: RiskLevel): number => RISK_LEVELS.indexOf(level)
const byDenial = (value: boolean): number => Number(!value)
const bySecrecy = (value: SecretHandling): number => SECRECY.indexOf(value)
const byIsolation = (value: boolean | IsolationFields): number => Number(value !== false)
const bySmallness = (value: number): number => -value

const NOTHING: readonly never[] = Object.freeze([])

// Made once: there are thousands of tools, and most entries leave most unsaid.
const unsaid = <Value>(value: Value): Ruled<Value> => Object.freeze({ value, reason: 'nothing else is said' })
const NO_MODES = unsaid<readonly Mode[]>(NOTHING)
const NO = unsaid(false)
const REFUSE = unsaid<SecretHandling>('refuse')

const REASONS: Readonly<Record<RiskLevel, string>> = {
  low: 'the default for low risk',
  medium: 'the default for medium risk',
  high: 'the default for high risk',
}

type ValueOf<Field extends PolicyField> = NonNullable<PolicyFields[Field]>
type RuledFields = { readonly [Field in PolicyField]?: readonly Ruled<ValueOf<Field>>[] }

/** The strictest one; without a measure the first. */
function choose<Value>(
  all: readonly Ruled<Value>[] | undefined,
  strictness: (value: Value) => number = () => 0,
): Ruled<Value> | undefined {
  return all?.reduce((chosen, next) => (strictness(chosen.value) >= strictness(next.value) ? chosen : next))
}

/** What widens nothing can be taken from one place only. */
function onlyValue<Value>([only, ...others]: readonly Ruled<Value>[] = []): Value | undefined {
  return others.length === 0 ? only?.value : undefined
}

function union<Item>(
  all: readonly Ruled<readonly Item[]>[] = [],
  order?: readonly Item[],
): Ruled<readonly Item[]> | undefined {
  const items = new Set(all.flatMap(({ value }) => value))
  return all[0] && { ...all[0], value: order ? order.filter((item) => items.has(item)) : [...items] }
}

function intersection<Item>(all: readonly Ruled<readonly Item[]>[] = []): Ruled<readonly Item[]> | undefined {
  const [shortest] = all.toSorted((a, b) => a.value.length - b.value.length)
  return (
    shortest && { ...shortest, value: shortest.value.filter((item) => all.every(({ value }) => value.includes(item))) }
  )
}

/** What stands in tools.yaml and, where that is silent about a field, in config.yaml. */
const ruledFields = (entries: readonly WrittenFields[], patterns: readonly WrittenFields[]): RuledFields => ({
  ...ruledIn(patterns),
  ...ruledIn(entries),
})

/** By what is there and not by what could be: most say little of all that can be said. */
function ruledIn(layer: readonly WrittenFields[]): RuledFields {
  const ruled: Partial<Record<PolicyField, Ruled<unknown>[]>> = {}
  for (const { fields, ruleOf } of layer) {
    for (const name of Object.keys(fields) as PolicyField[]) {
      const value = fields[name]
      if (value === undefined) continue
      const one = { value, reason: 'as written', rule: ruleOf(name) }
      const others = ruled[name]
      if (others === undefined) ruled[name] = [one]
      else others.push(one)
    }
  }
  return ruled as RuledFields
}
