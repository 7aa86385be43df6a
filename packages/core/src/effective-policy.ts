import type { RuleSource } from './decide.ts'
import type { Mode } from './mode.ts'
import { PERMISSIONS, type Permission } from './permission.ts'
import {
  type ArgumentRules,
  type PolicyField,
  type PolicyFields,
  RISK_LEVELS,
  type RiskLevel,
  type Ruled,
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
  readonly descriptionOverride: Ruled<string> | undefined
  readonly rename: Ruled<string> | undefined
  readonly pin: Ruled<string> | undefined
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
  const risk = written.choose('riskLevel', (level) => RISK_LEVELS.indexOf(level)) ?? inferred.risk
  const byRisk = defaults[risk.value]
  const reason = `the default for ${risk.value} risk`
  return {
    category: written.choose('category') ?? { value: inferred.category, reason: 'where it comes from' },
    permission: written.union('permission', PERMISSIONS) ?? inferred.permission,
    risk,
    requiresApproval: written.choose('requiresApproval', Number) ?? { value: byRisk.requiresApproval, reason },
    requiresApprovalInModes: written.union('requiresApprovalInModes') ?? unsaid([]),
    allowedInModes: written.intersection('allowedInModes') ?? { value: byRisk.allowedInModes, reason },
    forbiddenInModes: written.union('forbiddenInModes') ?? unsaid([]),
    essential: written.choose('essential', (value) => Number(!value)) ?? unsaid(false),
    hidden: written.choose('hidden', Number) ?? unsaid(false),
    enforce: written.choose('enforce', Number) ?? { value: enforce, reason: 'governance.enforce' },
    secrets: written.choose('secrets', (value) => SECRECY.indexOf(value)) ?? unsaid('refuse'),
    allowedPaths: written.all('allowedPaths'),
    forbiddenPaths: written.all('forbiddenPaths'),
    unattendedPaths: written.only('unattendedPaths') ?? [],
    pathArguments: written.union('pathArguments')?.value,
    arguments: written.all('arguments'),
    timeoutSeconds: written.choose('timeoutSeconds', (seconds) => -seconds),
    rateLimitPerMinute: written.choose('rateLimitPerMinute', (calls) => -calls),
    maxConcurrent: written.choose('maxConcurrent', (calls) => -calls),
    descriptionOverride: written.choose('descriptionOverride'),
    rename: written.choose('rename'),
    pin: written.choose('pin'),
  }
}

const SECRECY: readonly SecretHandling[] = ['allow', 'redact', 'refuse']

const unsaid = <Value>(value: Value): Ruled<Value> => ({ value, reason: 'nothing else is said' })

type ValueOf<Field extends PolicyField> = NonNullable<PolicyFields[Field]>
type ListField = 'permission' | 'requiresApprovalInModes' | 'allowedInModes' | 'forbiddenInModes' | 'pathArguments'
type ItemOf<Field extends ListField> = ValueOf<Field>[number]

/** What stands in tools.yaml and, where that is silent about a field, in config.yaml. */
class Written {
  readonly #layers: readonly (readonly WrittenFields[])[]

  constructor(entries: readonly WrittenFields[], patterns: readonly WrittenFields[]) {
    this.#layers = [entries, patterns]
  }

  /** Every value that the first layer has which has any. */
  all<Field extends PolicyField>(field: Field): readonly Ruled<ValueOf<Field>>[] {
    for (const layer of this.#layers) {
      const found = layer.flatMap(({ fields, ruleOf }) => {
        const value = fields[field] as ValueOf<Field> | undefined
        return value === undefined ? [] : [{ value, reason: 'as written', rule: ruleOf(field) }]
      })
      if (found.length > 0) return found
    }
    return []
  }

  /** The strictest one; without a measure the first. */
  choose<Field extends PolicyField>(
    field: Field,
    strictness: (value: ValueOf<Field>) => number = () => 0,
  ): Ruled<ValueOf<Field>> | undefined {
    const all = this.all(field)
    return all.reduce<Ruled<ValueOf<Field>> | undefined>(
      (chosen, next) => (chosen && strictness(chosen.value) >= strictness(next.value) ? chosen : next),
      undefined,
    )
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
    const items = new Set<ItemOf<Field>>(all.flatMap(({ value }) => [...value] as ItemOf<Field>[]))
    return { ...first, value: order ? order.filter((item) => items.has(item)) : [...items] }
  }

  intersection<Field extends ListField>(field: Field): Ruled<readonly ItemOf<Field>[]> | undefined {
    const all = this.all(field)
    const shortest = all.toSorted((a, b) => a.value.length - b.value.length)[0]
    if (shortest === undefined) return undefined
    const items = shortest.value as readonly ItemOf<Field>[]
    const inAll = (item: ItemOf<Field>): boolean =>
      all.every(({ value }) => (value as readonly unknown[]).includes(item))
    return { ...shortest, value: items.filter(inAll) }
  }
}
