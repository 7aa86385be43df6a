// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the examples in messages show references.

import { type Mode, tokenizeName } from '@sallyport/core'
import {
  either,
  leaf,
  list,
  object,
  optional,
  record,
  restricting,
  type Schema,
  strict,
  type ValueOf,
} from '../reading/schema.ts'
import { duration, finiteNumber, flag, integer, nonEmptyString, oneOfAnyCase } from '../reading/value-schemas.ts'
import { modes, paths, policySchema } from './policy-schema.ts'

/** These defaults apply to all tools of a risk level: with a misspelt key, all of them would be left open. */
const riskDefaults = strict(
  object('a mapping such as {allowed_in_modes: [NORMAL], requires_approval: true}', {
    allowedInModes: optional(modes),
    requiresApproval: optional(flag()),
  }),
)

/** A single word as it appears in tool names: several words in one entry would never match. */
const riskWord: Schema<string> = leaf({
  expected: 'one word, such as "frobnicate", or "!run" to remove one',
  jsonSchema: { type: 'string' },
  convert: (value) => {
    const [token, ...more] = typeof value === 'string' ? tokenizeName(value.replace(/^!/, '')) : []
    return token === undefined || more.length > 0 ? undefined : `${String(value).startsWith('!') ? '!' : ''}${token}`
  },
})

const riskWords = list('a list of words', riskWord)

/** Policy fields as they are written: `readPolicyFields` validates them later. */
const rawPolicy: Schema = { read: (value) => ({ ok: true, value }), jsonSchema: () => policySchema.jsonSchema() }
const rawArgumentRules: Schema = {
  read: (value) => ({ ok: true, value }),
  jsonSchema: () => policySchema.shape.arguments.jsonSchema(),
}

/** With a misspelt condition, more calls would be approved than intended. */
const autoApproval = strict(
  object('a rule such as {tool: "mcp__files__write_file", paths: ["/tmp/**"]}', {
    tool: optional(nonEmptyString('the name of a tool, or a pattern such as "mcp__files__*"')),
    agent: optional(nonEmptyString('the name of an agent')),
    profile: optional(nonEmptyString('the name of a profile')),
    paths: optional(paths),
    arguments: optional(rawArgumentRules),
  }),
)

const HIGHER_MODES = ['ALERT', 'DEGRADED', 'LOCKDOWN'] as const satisfies readonly Mode[]

const targetMode = optional(oneOfAnyCase(HIGHER_MODES))
const windowLength = optional(duration({ defaultUnit: 'none', min: 1_000 }))
const count = optional(integer(1, 1_000_000))

const off: Schema<false> = leaf({
  expected: 'false',
  jsonSchema: { const: false },
  convert: (value) => (value === false || value === 'false' ? false : undefined),
})

const fraction: Schema<number> = leaf({
  expected: 'a number above 0, and at most 1',
  jsonSchema: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
  convert: (value) => {
    const reading = finiteNumber.read(value)
    return reading.ok && reading.value > 0 && reading.value <= 1 ? reading.value : undefined
  },
})

const countTrigger = object('a mapping such as {count: 30, window: 10m, to: ALERT}', {
  count,
  window: windowLength,
  to: targetMode,
})
const rateTrigger = object('a mapping such as {rate: 0.5, least: 50, window: 10m, to: DEGRADED}', {
  rate: optional(fraction),
  least: count,
  window: windowLength,
  to: targetMode,
})
const lastingTrigger = object('a mapping such as {lasting: 30s, to: DEGRADED}', {
  lasting: optional(duration({ defaultUnit: 'none', min: 0 })),
  to: targetMode,
})

const trigger = <Some extends Schema>(part: Some, example: string) =>
  optional(either(`${example}, or false`, off, part))

const escalationParts = object('a mapping such as {policy_violations: {count: 30, window: 10m, to: ALERT}}', {
  policyViolations: trigger(countTrigger, 'a mapping such as {count: 30, window: 10m, to: ALERT}'),
  toolErrors: trigger(rateTrigger, 'a mapping such as {rate: 0.5, least: 50, window: 10m, to: DEGRADED}'),
  upstreamFlapping: trigger(countTrigger, 'a mapping such as {count: 10, window: 10m, to: DEGRADED}'),
  auditFailing: trigger(lastingTrigger, 'a mapping such as {lasting: 30s, to: DEGRADED}'),
})
const escalation = restricting(escalationParts, Object.keys(escalationParts.shape))

const defaults = strict(
  object('a mapping such as {high: {requires_approval: true}}', {
    low: optional(riskDefaults),
    medium: optional(riskDefaults),
    high: optional(riskDefaults),
  }),
)

const governanceParts = object('a mapping such as {enforce: true}', {
  enforce: optional(flag()),
  defaults: optional(defaults),
  riskTokens: optional(
    object('a mapping such as {high: [frobnicate], low: [ponder]}', {
      high: optional(riskWords),
      low: optional(riskWords),
      nouns: optional(riskWords),
    }),
  ),
  patterns: optional(
    record('a mapping of patterns to fields, such as {"mcp__*__create_*": {risk_level: high}}', rawPolicy),
  ),
  approvalTimeout: optional(duration({ defaultUnit: 'none', min: 1_000 })),
  autoApprove: optional(list('a list of rules such as {tool: "mcp__files__read_*"}', autoApproval)),
  approvalHook: optional(
    object('a mapping such as {url: …, secret: "${HOOK_SECRET}"}', {
      url: optional(nonEmptyString('an address such as "https://host/approvals"')),
      secret: optional(nonEmptyString('a string, best as "${HOOK_SECRET}"')),
    }),
  ),
  escalation: optional(escalation),
})

export const governanceSchema = restricting(governanceParts, ['defaults', 'riskTokens', 'patterns', 'escalation'])

export type GovernanceSection = ValueOf<typeof governanceSchema>
