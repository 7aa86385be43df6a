import {
  type ArgumentRule,
  type ArgumentRules,
  isJsonObject,
  MODES,
  PERMISSIONS,
  type Permission,
  RISK_LEVELS,
} from '@sallyport/core'
import { isolationFields } from './isolation-schema.ts'
import {
  either,
  type JsonSchema,
  list,
  object,
  optional,
  type Part,
  type Reading,
  record,
  restricting,
  strict,
} from './schema.ts'
import {
  anyCase,
  duration,
  finiteNumber,
  flag,
  json,
  mapping,
  prose,
  text,
  textList,
  wholeNumber,
} from './schema-parts.ts'

const MOST = 1_000_000

export const modes = list('a list of modes, such as [NORMAL, ALERT]', anyCase(MODES))
export const paths = textList('a list of path patterns, such as ["/srv/data/**"]')

/** One, or a list of at least one; in a fixed order. */
const permission: Part<readonly Permission[]> = {
  jsonSchema: () => ({ anyOf: [anyCase(PERMISSIONS).jsonSchema(), permissionList.jsonSchema()] }),
  read: (given) => {
    if (!Array.isArray(given)) return inOrder(anyCase(PERMISSIONS).read(given))
    return given.length === 0
      ? refused('READ, WRITE or CONNECT, or a list of these')
      : inOrder(permissionList.read(given))
  },
}

const permissionList = list('a list of permissions', anyCase(PERMISSIONS))

const refused = (expected: string): Reading<never> => ({ ok: false, issues: [{ path: [], expected }] })

function inOrder(reading: Reading<Permission | readonly Permission[]>): Reading<readonly Permission[]> {
  if (!reading.ok) return reading
  return { ok: true, value: PERMISSIONS.filter((known) => reading.value.includes(known)) }
}

/** As our settings have it: seconds, since the key says so. */
const seconds: Part<number> = {
  jsonSchema: () => duration({ bare: 's', least: 1 }).jsonSchema(),
  read: (given) => {
    const reading = duration({ bare: 's', least: 1 }).read(given)
    return reading.ok ? { ok: true, value: reading.value / 1_000 } : reading
  },
}

/** A rule whose only word is misspelt would let everything pass. */
const argumentRule: Part<ArgumentRule> = strict(
  object('a rule such as {enum: [a, b]}, {pattern: "^x"} or {forbidden: true}', {
    const: optional(json),
    enum: optional(list('a list of the values that are allowed', json)),
    pattern: optional(text('a regular expression')),
    max: optional(finiteNumber),
    min: optional(finiteNumber),
    maxLength: optional(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
    required: optional(flag()),
    forbidden: optional(flag()),
  }),
)

const ruleRecord = record('a mapping of arguments to rules, such as {branch: {pattern: "^feature/"}}', argumentRule)
const denyPatterns = optional(textList('a list of regular expressions'))
const DENY_PATTERNS = ['deny_patterns', 'denyPatterns']

/** `{<argument>: {pattern: …}, deny_patterns: […]}` */
const argumentRules: Part<ArgumentRules> = {
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

/** All that a tool's entry in tools.yaml may say, and `governance.patterns` of config.yaml (GOV-5). */
const policyParts = object('a mapping such as {risk_level: high}', {
  category: optional(text()),
  permission: optional(permission),
  riskLevel: optional(anyCase(RISK_LEVELS)),
  requiresApproval: optional(flag()),
  requiresApprovalInModes: optional(modes),
  allowedInModes: optional(modes),
  forbiddenInModes: optional(modes),
  allowedPaths: optional(paths),
  forbiddenPaths: optional(paths),
  unattendedPaths: optional(paths),
  pathArguments: optional(textList('a list of the arguments that hold paths')),
  sensitivity: optional(text()),
  isolated: optional(either('true, false or a mapping such as {strategy: bounded}', flag(), isolationFields)),
  result: optional(either('the name of a preset or a mapping of numbers', text(), mapping('a mapping'))),
  timeoutSeconds: optional(seconds),
  rateLimitPerMinute: optional(wholeNumber(1, MOST)),
  maxConcurrent: optional(wholeNumber(1, MOST)),
  descriptionOverride: optional(text()),
  rename: optional(text('a name')),
  hidden: optional(flag()),
  essential: optional(flag()),
  enforce: optional(flag()),
  secrets: optional(anyCase(['refuse', 'redact', 'allow'])),
  sensitivePaths: optional(paths),
  arguments: optional(argumentRules),
  pin: optional(text('a digest such as "sha256-…"')),
  note: optional(prose()),
})

/** Keys that only describe, or that widen: a slip in one of them takes no protection away. */
const HARMLESS_KEYS: readonly string[] = [
  'category',
  'descriptionOverride',
  'essential',
  'note',
  'rename',
  'result',
  'unattendedPaths',
]

/** The same, with the keys of which a misspelt one keeps its tools from being called. */
export const policySchema = restricting(
  policyParts,
  Object.keys(policyParts.shape).filter((key) => !HARMLESS_KEYS.includes(key)),
)
