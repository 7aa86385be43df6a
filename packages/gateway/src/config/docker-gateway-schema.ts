import { either, leaf, list, object, optional, type Part, restricting, type ValueOf } from './schema.ts'
import { flag, oneOf, plainText, text, wholeNumber } from './schema-parts.ts'
import { COMMON_KEYS, OTHER_RESTRICTING_WORDS, PROGRAM_KEYS, RESTRICTING_SERVER_KEYS } from './server-keys.ts'

/** Docker reads its lists as CSV: a comma would make two of one, a quote one of two, and a hyphen in front an option. */
export const LIST_ITEM = /^[^-\s,"'][^\s,"']*$/

interface Pattern {
  readonly expected: string
  readonly pattern: RegExp
}

const matching = ({ expected, pattern }: Pattern): Part<string> =>
  leaf({
    expected,
    jsonSchema: { type: 'string', pattern: pattern.source },
    convert: (value) => (typeof value === 'string' ? value : undefined),
    fault: (value) => (pattern.test(value) ? undefined : expected),
  })

const names = (what: string, example: string): Part<readonly string[]> =>
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
  command: optional(either('a command, such as [docker, mcp, gateway, run]', plainText, list('a list', plainText))),
  enabledServers: optional(names('the name of a server', '[github, duckduckgo]')),
  servers: optional(names('the name of a server', '[github, duckduckgo]')),
  profile: optional(matching({ expected: 'the id of a profile', pattern: /^[^-\s]\S*$/ })),
  tools: optional(names('the name of a tool', '["github:*", "time:now"]')),
  transport: optional(oneOf(['stdio', 'streaming'])),
  port: optional(wholeNumber(1, 65_535)),
  cpus: optional(wholeNumber(1, 1_024)),
  memory: optional(memory),
  blockNetwork: optional(flag()),
  blockSecrets: optional(flag()),
  verifySignatures: optional(flag()),
  longLived: optional(flag()),
  static: optional(flag()),
  secrets: optional(text('where secrets are looked up, such as "docker-desktop:./.env"')),
  catalogs: optional(names('the name of a catalog', '[my-catalog.yaml]')),
  interceptors: optional(list('a list such as ["before:exec:/usr/local/bin/check"]', interceptor)),
  extraArgs: optional(list('a list of texts, such as ["--verbose"]', plainText)),
})

/** Options of Docker's that restrict: without them all servers and tools are there, or nothing holds them back. */
const RESTRICTING_OPTIONS = [
  ...['enabledServers', 'servers', 'profile', 'tools', 'cpus', 'memory'],
  ...['blockNetwork', 'blockSecrets', 'verifySignatures', 'interceptors'],
]

/** An entry of `type: docker-gateway`: the options of `docker mcp gateway run`, by their own names. */
export const dockerGatewaySchema = restricting(
  dockerGatewayParts,
  [...RESTRICTING_SERVER_KEYS, ...RESTRICTING_OPTIONS],
  OTHER_RESTRICTING_WORDS,
)

export type DockerGatewayEntry = ValueOf<typeof dockerGatewaySchema>
