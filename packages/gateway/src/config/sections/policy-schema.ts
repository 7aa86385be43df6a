import {
  type ArgumentRule,
  type ArgumentRules,
  isJsonObject,
  MODES,
  PERMISSIONS,
  type Permission,
  RISK_LEVELS,
  SENSITIVITIES,
} from '@sallyport/core'
import {
  either,
  type JsonSchema,
  list,
  object,
  optional,
  record,
  restricting,
  type Schema,
  type SchemaResult,
  strict,
} from '../reading/schema.ts'
import {
  anyString,
  duration,
  finiteNumber,
  flag,
  integer,
  json,
  mapping,
  nonEmptyString,
  oneOfAnyCase,
  stringList,
} from '../reading/value-schemas.ts'
import { isolationFields } from './isolation-schema.ts'

const MAX_COUNT = 1_000_000

export const modes = list('a list of modes, such as [NORMAL, ALERT]', oneOfAnyCase(MODES))
export const paths = stringList('a list of path patterns, such as ["/srv/data/**"]')

/** One permission, or a list of at least one. The result has a fixed order. */
const permission: Schema<readonly Permission[]> = {
  jsonSchema: () => ({ anyOf: [oneOfAnyCase(PERMISSIONS).jsonSchema(), permissionList.jsonSchema()] }),
  read: (given) => {
    if (!Array.isArray(given)) return sortPermissions(oneOfAnyCase(PERMISSIONS).read(given))
    return given.length === 0
      ? refused('READ, WRITE or CONNECT, or a list of these')
      : sortPermissions(permissionList.read(given))
  },
}

const permissionList = list('a list of permissions', oneOfAnyCase(PERMISSIONS))

const refused = (expected: string): SchemaResult<never> => ({ ok: false, issues: [{ path: [], expected }] })

function sortPermissions(
  reading: SchemaResult<Permission | readonly Permission[]>,
): SchemaResult<readonly Permission[]> {
  if (!reading.ok) return reading
  return { ok: true, value: PERMISSIONS.filter((known) => reading.value.includes(known)) }
}

/** Returns seconds, as the key's name says. */
const seconds: Schema<number> = {
  jsonSchema: () => duration({ defaultUnit: 's', min: 1 }).jsonSchema(),
  read: (given) => {
    const reading = duration({ defaultUnit: 's', min: 1 }).read(given)
    return reading.ok ? { ok: true, value: reading.value / 1_000 } : reading
  },
}

/** A rule whose only key is misspelt would let everything pass. */
const argumentRule: Schema<ArgumentRule> = strict(
  object('a rule such as {enum: [a, b]}, {pattern: "^x"} or {forbidden: true}', {
    const: optional(json),
    enum: optional(list('a list of the allowed values', json)),
    pattern: optional(nonEmptyString('a regular expression')),
    max: optional(finiteNumber),
    min: optional(finiteNumber),
    maxLength: optional(integer(0, Number.MAX_SAFE_INTEGER)),
    required: optional(flag()),
    forbidden: optional(flag()),
  }),
)

const ruleRecord = record('a mapping of arguments to rules, such as {branch: {pattern: "^feature/"}}', argumentRule)
const denyPatterns = optional(stringList('a list of regular expressions'))
const DENY_PATTERNS = ['deny_patterns', 'denyPatterns']

/** `{<argument>: {pattern: …}, deny_patterns: […]}` */
const argumentRules: Schema<ArgumentRules> = {
  member: argumentRule,
  jsonSchema: () => {
    const properties = Object.fromEntries(
      DENY_PATTERNS.map((key): [string, JsonSchema] => [key, denyPatterns.jsonSchema()]),
    )
    return { ...ruleRecord.jsonSchema(), properties }
  },
  read: (given) => {
    const fields = isJsonObject(given) ? Object.entries(given) : undefined
    const isDenied = ([key]: readonly [string, unknown]): boolean => DENY_PATTERNS.includes(key)
    const rules = ruleRecord.read(fields ? Object.fromEntries(fields.filter((field) => !isDenied(field))) : given)
    const [key = '', patterns] = fields?.find(isDenied) ?? []
    const denied = denyPatterns.read(patterns)
    if (rules.ok && denied.ok) return { ok: true, value: { fields: rules.value, denyPatterns: denied.value ?? [] } }
    const deniedIssues = denied.ok ? [] : denied.issues.map((issue) => ({ ...issue, path: [key, ...issue.path] }))
    return { ok: false, issues: [...(rules.ok ? [] : rules.issues), ...deniedIssues] }
  },
}

/** All fields of an entry in tools.yaml, and of `governance.patterns` in config.yaml (GOV-5). */
const policyParts = object('a mapping such as {risk_level: high}', {
  category: optional(nonEmptyString()),
  permission: optional(permission),
  riskLevel: optional(oneOfAnyCase(RISK_LEVELS)),
  requiresApproval: optional(flag()),
  requiresApprovalInModes: optional(modes),
  allowedInModes: optional(modes),
  forbiddenInModes: optional(modes),
  allowedPaths: optional(paths),
  forbiddenPaths: optional(paths),
  unattendedPaths: optional(paths),
  pathArguments: optional(stringList('a list of the arguments that hold paths')),
  sensitivity: optional(oneOfAnyCase(SENSITIVITIES)),
  isolated: optional(either('true, false or a mapping such as {strategy: bounded}', flag(), isolationFields)),
  result: optional(either('the name of a preset or a mapping of numbers', nonEmptyString(), mapping('a mapping'))),
  timeoutSeconds: optional(seconds),
  rateLimitPerMinute: optional(integer(1, MAX_COUNT)),
  maxConcurrent: optional(integer(1, MAX_COUNT)),
  descriptionOverride: optional(nonEmptyString()),
  rename: optional(nonEmptyString('a name')),
  hidden: optional(flag()),
  essential: optional(flag()),
  enforce: optional(flag()),
  secrets: optional(oneOfAnyCase(['refuse', 'redact', 'allow'])),
  sensitivePaths: optional(paths),
  arguments: optional(argumentRules),
  pin: optional(nonEmptyString('a digest such as "sha256-…"')),
  note: optional(anyString()),
})

/** Keys that only describe or that allow more: misspelling one of them does not reduce protection. */
const NON_RESTRICTING_KEYS: readonly string[] = [
  'category',
  'descriptionOverride',
  'essential',
  'note',
  'rename',
  'result',
  'unattendedPaths',
]

/** The same, with the list of restricting keys: if one is misspelt, calls of its tools are refused. */
export const policySchema = restricting(
  policyParts,
  Object.keys(policyParts.shape).filter((key) => !NON_RESTRICTING_KEYS.includes(key)),
)
