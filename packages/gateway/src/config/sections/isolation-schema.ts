// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the examples in messages show references.

import { ISOLATION_FALLBACKS, ISOLATION_STRATEGIES } from '@sallyport/core'
import { either, object, optional, record, restricting, type Schema, strict, type ValueOf } from '../reading/schema.ts'
import {
  anyString,
  byteSize,
  duration,
  flag,
  integer,
  mapping,
  nonEmptyString,
  oneOf,
} from '../reading/value-schemas.ts'

const MAX_TOKENS = 1_000_000
const MAX_CHARACTERS = 100_000_000
const DAY_MS = 86_400_000

const LIMITS = {
  maxTokens: optional(integer(100, MAX_TOKENS)),
  maxTurns: optional(integer(1, 100)),
  maxTime: optional(duration({ defaultUnit: 's', min: 1 })),
} as const

/** With a misspelt key, calls would be less protected than intended. */
export const isolationFields = strict(
  object('a mapping such as {strategy: bounded}', {
    ...LIMITS,
    strategy: optional(oneOf(ISOLATION_STRATEGIES)),
    fallback: optional(oneOf(ISOLATION_FALLBACKS)),
    budget: optional(integer(500, MAX_CHARACTERS)),
    returns: optional(mapping('a JSON Schema')),
    allowRecall: optional(flag()),
  }),
)

export const MODEL_PROVIDERS = ['anthropic', 'openai', 'google', 'openai-compatible'] as const

const modelSchema = object('a mapping such as {provider: anthropic, api_key: "${ANTHROPIC_API_KEY}"}', {
  provider: optional(oneOf(MODEL_PROVIDERS)),
  name: optional(nonEmptyString('the name of a model')),
  baseUrl: optional(nonEmptyString('an address such as "http://127.0.0.1:11434/v1"')),
  apiKey: optional(nonEmptyString('a string, best as "${ANTHROPIC_API_KEY}"')),
  apiKeyFile: optional(nonEmptyString('an absolute path such as "/run/secrets/anthropic"')),
})

const isolationParts = object('a mapping such as {strategy: bounded}', {
  ...isolationFields.shape,
  engine: optional(oneOf(['auto', 'none', 'provider'])),
  model: optional(modelSchema),
})

/** Without `model`, no connection to a model is opened: results are bounded instead. */
export const isolationSchema = restricting(isolationParts, [...Object.keys(isolationFields.shape), 'engine'])

/** The variables of a call that prompts of the sub-agent can use. */
export const TEMPLATE_VARIABLES: readonly string[] = ['serverName', 'toolName', 'toolInput']

const template: Schema<string> = {
  ...nonEmptyString('a string such as "Run {{toolName}}"'),
  templateVariables: TEMPLATE_VARIABLES,
}

const executorParts = object('a mapping such as {max_turns: 3}', {
  ...LIMITS,
  enabled: optional(flag()),
  description: optional(anyString()),
  model: optional(modelSchema),
  systemPrompt: optional(template),
  query: optional(template),
})

/** The built-in sub-agent. Every key overrides one of its defaults. */
const agentsParts = object('a mapping such as {mcp-executor: {max_turns: 3}}', {
  'mcp-executor': optional(restricting(executorParts, [...Object.keys(LIMITS), 'enabled'])),
})

export const agentsSchema = restricting(agentsParts, ['mcp-executor'])

const contextParts = object('a mapping such as {cap: 8000}', {
  cap: optional(
    either('a number of characters from 500, "auto" or "off"', integer(500, MAX_CHARACTERS), oneOf(['auto', 'off'])),
  ),
  presets: optional(record('a mapping of names to presets', mapping('a mapping such as {threshold: 5000}'))),
  retention: optional(
    object('a mapping such as {age: 7d, size: 1GB}', {
      age: optional(duration({ defaultUnit: 'none', min: 60_000, max: 36_500 * DAY_MS })),
      size: optional(byteSize('1MB', '100TB')),
    }),
  ),
})

export const contextSchema = restricting(contextParts, ['cap', 'presets'])

export type IsolationSection = ValueOf<typeof isolationSchema>
export type ModelSection = ValueOf<typeof modelSchema>
export type AgentsSection = ValueOf<typeof agentsSchema>
export type ContextSection = ValueOf<typeof contextSchema>
