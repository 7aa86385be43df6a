import type { RuleSource } from './decide.ts'
import type { IsolationFields } from './isolation-policy.ts'
import type { JsonObject } from './json.ts'
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
  const written = new Written(entries, patterns)
  const risk = written.choose('riskLevel', byRiskLevel) ?? inferred.risk
  const byRisk = defaults[risk.value]
  const reason = REASONS[risk.value]
  return {
    category: written.choose('category') ?? { value: inferred.category, reason: 'where it comes from' },
    permission: written.union('permission', PERMISSIONS) ?? inferred.permission,
    risk,
    requiresApproval: written.choose('requiresApproval', Number) ?? { value: byRisk.requiresApproval, reason },
    requiresApprovalInModes: written.union('requiresApprovalInModes') ?? NO_MODES,
    allowedInModes: written.intersection('allowedInModes') ?? { value: byRisk.allowedInModes, reason },
    forbiddenInModes: written.union('forbiddenInModes') ?? NO_MODES,
    essential: written.choose('essential', byDenial) ?? NO,
    hidden: written.choose('hidden', Number) ?? NO,
    enforce: written.choose('enforce', Number) ?? { value: enforce, reason: 'governance.enforce' },
    secrets: written.choose('secrets', bySecrecy) ?? REFUSE,
    allowedPaths: written.all('allowedPaths'),
    forbiddenPaths: written.all('forbiddenPaths'),
    unattendedPaths: written.only('unattendedPaths') ?? NOTHING,
    pathArguments: written.union('pathArguments')?.value,
    arguments: written.all('arguments'),
    timeoutSeconds: written.choose('timeoutSeconds', bySmallness),
    rateLimitPerMinute: written.choose('rateLimitPerMinute', bySmallness),
    maxConcurrent: written.choose('maxConcurrent', bySmallness),
    isolated: written.choose('isolated', byIsolation),
    result: written.choose('result'),
    descriptionOverride: written.choose('descriptionOverride'),
    rename: written.choose('rename'),
    pin: written.all('pin'),
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
type ListField = 'permission' | 'requiresApprovalInModes' | 'allowedInModes' | 'forbiddenInModes' | 'pathArguments'
type ItemOf<Field extends ListField> = ValueOf<Field>[number]

type RuledFields = { readonly [Field in PolicyField]?: readonly Ruled<ValueOf<Field>>[] }

/** What stands in tools.yaml and, where that is silent about a field, in config.yaml. */
class Written {
  readonly #entries: RuledFields
  readonly #patterns: RuledFields

  constructor(entries: readonly WrittenFields[], patterns: readonly WrittenFields[]) {
    this.#entries = ruledFields(entries)
    this.#patterns = ruledFields(patterns)
  }

  /** Every value that the first layer has which has any. */
  all<Field extends PolicyField>(field: Field): readonly Ruled<ValueOf<Field>>[] {
    return this.#entries[field] ?? this.#patterns[field] ?? NOTHING
  }

  /** The strictest one; without a measure the first. */
  choose<Field extends PolicyField>(
    field: Field,
    strictness: (value: ValueOf<Field>) => number = () => 0,
  ): Ruled<ValueOf<Field>> | undefined {
    const all = this.all(field)
    if (all.length < 2) return all[0]
    return all.reduce((chosen, next) => (strictness(chosen.value) >= strictness(next.value) ? chosen : next))
  }

  /** What widens nothing can be taken from one place only. */
  only<Field extends PolicyField>(field: Field): ValueOf<Field> | undefined {
    const all = this.all(field)
    return all.length === 1 ? all[0]?.value : undefined
  }

  union<Field extends ListField>(
    field: Field,
    order?: readonly ItemOf<Field>[],
  ): Ruled<readonly ItemOf<Field>[]> | undefined {
    const all = this.all(field)
    const [first] = all
    if (first === undefined) return undefined
    if (all.length === 1 && isInOrder(first.value, order)) return first as Ruled<readonly ItemOf<Field>[]>
    const items = new Set<ItemOf<Field>>(all.flatMap(({ value }) => [...value] as ItemOf<Field>[]))
    return { ...first, value: order ? order.filter((item) => items.has(item)) : [...items] }
  }

  intersection<Field extends ListField>(field: Field): Ruled<readonly ItemOf<Field>[]> | undefined {
    const all = this.all(field)
    if (all.length < 2) return all[0] as Ruled<readonly ItemOf<Field>[]> | undefined
    const shortest = all.toSorted((a, b) => a.value.length - b.value.length)[0]
    if (shortest === undefined) return undefined
    const items = shortest.value as readonly ItemOf<Field>[]
    const inAll = (item: ItemOf<Field>): boolean =>
      all.every(({ value }) => (value as readonly unknown[]).includes(item))
    return { ...shortest, value: items.filter(inAll) }
  }
}

/** Whether each item stands there once, and in this order if there is one. */
function isInOrder(items: readonly unknown[], order: readonly unknown[] = items): boolean {
  let last = -1
  for (const item of items) {
    const place = order.indexOf(item)
    if (place <= last) return false
    last = place
  }
  return true
}

/** By what is there and not by what could be: most say little of all that can be said. */
function ruledFields(layer: readonly WrittenFields[]): RuledFields {
  if (layer.length === 0) return UNRULED
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

const UNRULED: RuledFields = Object.freeze({})
