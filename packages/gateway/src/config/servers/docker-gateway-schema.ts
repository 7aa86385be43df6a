import { either, leaf, list, object, optional, restricting, type Schema, type ValueOf } from '../reading/schema.ts'
import { coercedString, flag, integer, nonEmptyString, oneOf } from '../reading/value-schemas.ts'
import { COMMON_KEYS, PROGRAM_KEYS, RESTRICTING_KEY_HINTS, RESTRICTING_SERVER_KEYS } from './server-keys.ts'

/** Docker reads its lists as CSV: a comma would split an item, a quote would join two, and a leading hyphen is an option. */
export const LIST_ITEM = /^[^-\s,"'][^\s,"']*$/

interface Pattern {
  readonly expected: string
  readonly pattern: RegExp
}

const matching = ({ expected, pattern }: Pattern): Schema<string> =>
  leaf({
    expected,
    jsonSchema: { type: 'string', pattern: pattern.source },
    convert: (value) => (typeof value === 'string' ? value : undefined),
    findProblem: (value) => (pattern.test(value) ? undefined : expected),
  })

const names = (what: string, example: string): Schema<readonly string[]> =>
  list(
    `a list such as ${example}`,
    matching({ expected: `${what} without spaces, commas and quotes`, pattern: LIST_ITEM }),
  )

const interceptor = matching({
  expected: 'an interceptor such as "before:exec:/usr/local/bin/check"',
  pattern: /^(before|after):(exec|docker|http):./,
})

const memory = matching({ expected: 'a size with its unit, such as "2Gb"', pattern: /^\d+(\.\d+)?\s?[KMGkmg]i?[Bb]?$/ })

const dockerGatewayParts = object('a mapping with "type: docker-gateway"', {
  ...COMMON_KEYS,
  ...PROGRAM_KEYS,
  type: oneOf(['docker-gateway']),
  command: optional(
    either('a command, such as [docker, mcp, gateway, run]', coercedString, list('a list', coercedString)),
  ),
  enabledServers: optional(names('the name of a server', '[github, duckduckgo]')),
  servers: optional(names('the name of a server', '[github, duckduckgo]')),
  profile: optional(matching({ expected: 'the id of a profile', pattern: /^[^-\s]\S*$/ })),
  tools: optional(names('the name of a tool', '["github:*", "time:now"]')),
  transport: optional(oneOf(['stdio', 'streaming'])),
  port: optional(integer(1, 65_535)),
  cpus: optional(integer(1, 1_024)),
  memory: optional(memory),
  blockNetwork: optional(flag()),
  blockSecrets: optional(flag()),
  verifySignatures: optional(flag()),
  longLived: optional(flag()),
  static: optional(flag()),
  secrets: optional(nonEmptyString('where secrets are looked up, such as "docker-desktop:./.env"')),
  catalogs: optional(names('the name of a catalog', '[my-catalog.yaml]')),
  interceptors: optional(list('a list such as ["before:exec:/usr/local/bin/check"]', interceptor)),
  extraArgs: optional(list('a list of strings, such as ["--verbose"]', coercedString)),
})

/** Docker options that restrict: without them, all servers and tools are available, or run without limits. */
const RESTRICTING_OPTIONS = [
  ...['enabledServers', 'servers', 'profile', 'tools', 'cpus', 'memory'],
  ...['blockNetwork', 'blockSecrets', 'verifySignatures', 'interceptors'],
]

/** An entry with `type: docker-gateway`. Its keys are named like the options of `docker mcp gateway run`. */
export const dockerGatewaySchema = restricting(
  dockerGatewayParts,
  [...RESTRICTING_SERVER_KEYS, ...RESTRICTING_OPTIONS],
  RESTRICTING_KEY_HINTS,
)

export type DockerGatewayEntry = ValueOf<typeof dockerGatewaySchema>
