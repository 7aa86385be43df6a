// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the examples in messages show references.

import { SENSITIVITIES } from '@sallyport/core'
import { list, object, optional, record, type ValueOf } from '../reading/schema.ts'
import {
  anyString,
  byteSize,
  coercedString,
  duration,
  flag,
  integer,
  nonEmptyString,
  oneOf,
  oneOfAnyCase,
  stringList,
  unchecked,
} from '../reading/value-schemas.ts'
import { processLimitsSchema } from '../sections/sandbox-section.ts'

/** Keys of a server that ask for a protection which this version does not provide. */
export const NOT_ENFORCED_SERVER_KEYS = ['clientApproval', 'detect'] as const

const UNCHECKED_SERVER_KEYS = [...NOT_ENFORCED_SERVER_KEYS, 'driver', 'oauth', 'trust'] as const

/** Keys of a server that isolate or restrict what it offers, keep it from starting, or say who calls it. */
export const RESTRICTING_SERVER_KEYS = [
  ...NOT_ENFORCED_SERVER_KEYS,
  'allowUnsandboxed',
  'disabled',
  'disabledTools',
  'enabled',
  'enabledTools',
  'excludeTools',
  'forwards',
  'identity',
  'image',
  'includeTools',
  'isolated',
  'isolatedTools',
  'limits',
  'mounts',
  'network',
  'sandbox',
  'sensitivePaths',
  'sensitivity',
  'urlIsolated',
] as const

const INCLUDE = 'Did you mean "includeTools"?'
const EXCLUDE = 'Did you mean "excludeTools"?'
const FORWARD = 'Did you mean "identity: forward"?'
const OF_TOOLS = 'It is a setting of tools: write it in tools.yaml, or under governance.patterns.'

/** Other names that people use for restricting keys, and keys that belong in another file. */
export const RESTRICTING_KEY_HINTS = {
  ...{ include: INCLUDE, tools: INCLUDE, allowTools: INCLUDE, allowedTools: INCLUDE },
  ...{ exclude: EXCLUDE, denyTools: EXCLUDE, deniedTools: EXCLUDE, blockTools: EXCLUDE, blockedTools: EXCLUDE },
  contextIsolation: 'Did you mean "isolated"?',
  ...{ forwardIdentity: FORWARD, identityForward: FORWARD, forwardCaller: FORWARD, forwardUser: FORWARD },
  networkIsolation: 'Did you mean "network"?',
  ...{ allowedPaths: OF_TOOLS, forbiddenPaths: OF_TOOLS, denyPatterns: OF_TOOLS, hidden: OF_TOOLS },
  ...{ readOnly: OF_TOOLS, returns: OF_TOOLS },
  ...{ permission: OF_TOOLS, riskLevel: OF_TOOLS, requiresApproval: OF_TOOLS, requiresApprovalInModes: OF_TOOLS },
  ...{ allowedInModes: OF_TOOLS, forbiddenInModes: OF_TOOLS },
  ...{ rateLimitPerMinute: OF_TOOLS, maxConcurrent: OF_TOOLS },
} as const

const atLeastMs = { min: 1 } as const

const timeouts = object('a mapping such as {startup: 30s, call: 60s}', {
  startup: optional(duration({ defaultUnit: 'none', ...atLeastMs })),
  call: optional(duration({ defaultUnit: 'none', ...atLeastMs })),
  max: optional(duration({ defaultUnit: 'none', ...atLeastMs })),
  idle: optional(duration({ defaultUnit: 'none', ...atLeastMs })),
  health: optional(duration({ defaultUnit: 'none', min: 0 })),
})

/** Lower ports need a right that no program in a sandbox has. */
const MIN_PORT = 1_024

const forward = object('a mapping such as {listen: 5432, to: "db.internal:5432"}', {
  listen: integer(MIN_PORT, 65_535),
  to: nonEmptyString('a host and a port, such as "db.internal:5432"'),
})

export const stringMap = (example: string) => record(`a mapping of names to strings, such as ${example}`, coercedString)

/** The keys that all kinds of servers share. */
export const COMMON_KEYS = {
  title: optional(nonEmptyString('a string', 200)),
  description: optional(anyString()),
  enabled: optional(flag()),
  disabled: optional(flag()),
  era: optional(oneOf(['auto', 'legacy', 'modern'])),
  includeTools: optional(stringList('a list of tool names')),
  enabledTools: optional(stringList('a list of tool names')),
  excludeTools: optional(stringList('a list of tool names')),
  disabledTools: optional(stringList('a list of tool names')),
  timeouts: optional(timeouts),
  timeout: optional(duration({ defaultUnit: 'ms', ...atLeastMs })),
  readTimeout: optional(duration({ defaultUnit: 's', ...atLeastMs })),
  timeoutSeconds: optional(duration({ defaultUnit: 's', ...atLeastMs })),
  toolTimeoutSec: optional(duration({ defaultUnit: 's', ...atLeastMs })),
  toolTimeoutMs: optional(duration({ defaultUnit: 'ms', ...atLeastMs })),
  startupTimeout: optional(duration({ defaultUnit: 's', ...atLeastMs })),
  startupTimeoutSec: optional(duration({ defaultUnit: 's', ...atLeastMs })),
  startupTimeoutMs: optional(duration({ defaultUnit: 'ms', ...atLeastMs })),
  idle: optional(duration({ defaultUnit: 'none', ...atLeastMs })),
  maxMessage: optional(byteSize()),
  isolated: optional(flag()),
  isolatedTools: optional(stringList('a list of tool names, such as [query]')),
  result: optional(nonEmptyString('the name of a preset, such as "sql_query"')),
  trusted: optional(flag()),
  sensitivity: optional(oneOfAnyCase(SENSITIVITIES)),
  sensitivePaths: optional(stringList('a list of path patterns, such as ["/srv/hr/**"]')),
  identity: optional(oneOf(['forward'])),
  allowUnsandboxed: optional(flag()),
  forwards: optional(list('a list such as [{listen: 5432, to: "db.internal:5432"}]', forward)),
  limits: optional(processLimitsSchema),
  mounts: optional(stringList('a list of files and folders, such as ["/srv/data", "/srv/work:rw"]')),
  network: optional(oneOf(['brokered', 'host', 'none'])),
  image: optional(nonEmptyString('a container image, such as "registry.example/server:1"', 500)),
  sandbox: optional(oneOf(['auto', 'bubblewrap', 'docker', 'podman', 'none'])),
  urlIsolated: optional(nonEmptyString('an address such as "https://host/mcp"')),
  ...unchecked(UNCHECKED_SERVER_KEYS),
} as const

/** The keys of a program that the gateway starts. */
export const PROGRAM_KEYS = {
  env: optional(stringMap('{TOKEN: "${MY_TOKEN}"}')),
  environment: optional(stringMap('{TOKEN: "${MY_TOKEN}"}')),
  cwd: optional(nonEmptyString('a folder')),
} as const

const common = object('a mapping', COMMON_KEYS)
const program = object('a mapping', PROGRAM_KEYS)

export type CommonEntry = ValueOf<typeof common>
export type ProgramEntry = ValueOf<typeof program>
