// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the examples in messages show references.

import { object, optional, record, type ValueOf } from './schema.ts'
import { byteSize, duration, flag, oneOf, plainText, prose, text, textList, unread } from './schema-parts.ts'

/** Keys of a server that ask for a protection which this version does not give. */
export const PROTECTING_SERVER_KEYS = [
  'clientApproval',
  'detect',
  'image',
  'mounts',
  'network',
  'sandbox',
  'sensitivePaths',
  'sensitivity',
  'urlIsolated',
] as const

const UNREAD_SERVER_KEYS = [
  ...PROTECTING_SERVER_KEYS,
  'allowUnsandboxed',
  'driver',
  'forwards',
  'oauth',
  'trust',
] as const

/** Keys of a server that isolate or restrict what it offers, or keep it from starting. */
export const RESTRICTING_SERVER_KEYS = [
  ...PROTECTING_SERVER_KEYS,
  'disabled',
  'disabledTools',
  'enabled',
  'enabledTools',
  'excludeTools',
  'includeTools',
  'isolated',
  'isolatedTools',
] as const

const INCLUDE = 'Did you mean "includeTools"?'
const EXCLUDE = 'Did you mean "excludeTools"?'
const OF_TOOLS = 'It belongs to tools: write it in tools.yaml, or under governance.patterns.'

/** What people write in a server's entry when they want one of these, or what stands in another file. */
export const OTHER_RESTRICTING_WORDS = {
  ...{ include: INCLUDE, tools: INCLUDE, allowTools: INCLUDE, allowedTools: INCLUDE },
  ...{ exclude: EXCLUDE, denyTools: EXCLUDE, deniedTools: EXCLUDE, blockTools: EXCLUDE, blockedTools: EXCLUDE },
  contextIsolation: 'Did you mean "isolated"?',
  networkIsolation: 'Did you mean "network"?',
  ...{ allowedPaths: OF_TOOLS, forbiddenPaths: OF_TOOLS, denyPatterns: OF_TOOLS, hidden: OF_TOOLS },
  ...{ readOnly: OF_TOOLS, returns: OF_TOOLS },
  ...{ permission: OF_TOOLS, riskLevel: OF_TOOLS, requiresApproval: OF_TOOLS, requiresApprovalInModes: OF_TOOLS },
  ...{ allowedInModes: OF_TOOLS, forbiddenInModes: OF_TOOLS },
  ...{ rateLimitPerMinute: OF_TOOLS, maxConcurrent: OF_TOOLS },
} as const

const atLeastMs = { least: 1 } as const

const timeouts = object('a mapping such as {startup: 30s, call: 60s}', {
  startup: optional(duration({ bare: 'none', ...atLeastMs })),
  call: optional(duration({ bare: 'none', ...atLeastMs })),
  max: optional(duration({ bare: 'none', ...atLeastMs })),
  idle: optional(duration({ bare: 'none', ...atLeastMs })),
  health: optional(duration({ bare: 'none', least: 0 })),
})

export const textMap = (example: string) => record(`a mapping of names to texts, such as ${example}`, plainText)

/** What every entry may say, whatever kind of server it is. */
export const COMMON_KEYS = {
  title: optional(text('a text', 200)),
  description: optional(prose()),
  enabled: optional(flag()),
  disabled: optional(flag()),
  era: optional(oneOf(['auto', 'legacy', 'modern'])),
  includeTools: optional(textList('a list of tool names')),
  enabledTools: optional(textList('a list of tool names')),
  excludeTools: optional(textList('a list of tool names')),
  disabledTools: optional(textList('a list of tool names')),
  timeouts: optional(timeouts),
  timeout: optional(duration({ bare: 'ms', ...atLeastMs })),
  readTimeout: optional(duration({ bare: 's', ...atLeastMs })),
  timeoutSeconds: optional(duration({ bare: 's', ...atLeastMs })),
  toolTimeoutSec: optional(duration({ bare: 's', ...atLeastMs })),
  toolTimeoutMs: optional(duration({ bare: 'ms', ...atLeastMs })),
  startupTimeout: optional(duration({ bare: 's', ...atLeastMs })),
  startupTimeoutSec: optional(duration({ bare: 's', ...atLeastMs })),
  startupTimeoutMs: optional(duration({ bare: 'ms', ...atLeastMs })),
  idle: optional(duration({ bare: 'none', ...atLeastMs })),
  maxMessage: optional(byteSize()),
  isolated: optional(flag()),
  isolatedTools: optional(textList('a list of tool names, such as [query]')),
  result: optional(text('the name of a preset, such as "sql_query"')),
  trusted: optional(flag()),
  ...unread(UNREAD_SERVER_KEYS),
} as const

/** What an entry may say of a program that is to be started. */
export const PROGRAM_KEYS = {
  env: optional(textMap('{TOKEN: "${MY_TOKEN}"}')),
  environment: optional(textMap('{TOKEN: "${MY_TOKEN}"}')),
  cwd: optional(text('a folder')),
} as const

const common = object('a mapping', COMMON_KEYS)
const program = object('a mapping', PROGRAM_KEYS)

export type CommonEntry = ValueOf<typeof common>
export type ProgramEntry = ValueOf<typeof program>
