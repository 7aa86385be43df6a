// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the examples in messages show references.

import { toSnakeCase } from '@sallyport/core'
import { governanceSchema } from '../sections/governance-schema.ts'
import { agentsSchema, contextSchema, isolationSchema } from '../sections/isolation-schema.ts'
import { labelsSchema } from '../sections/labels-section.ts'
import { sandboxSchema } from '../sections/sandbox-section.ts'
import { dockerGatewaySchema } from '../servers/docker-gateway-schema.ts'
import {
  COMMON_KEYS,
  PROGRAM_KEYS,
  RESTRICTING_KEY_HINTS,
  RESTRICTING_SERVER_KEYS,
  stringMap,
} from '../servers/server-keys.ts'
import {
  anything,
  either,
  type JsonSchema,
  list,
  object,
  optional,
  record,
  restricting,
  type ValueOf,
} from './schema.ts'
import {
  byteSize,
  coercedString,
  duration,
  flag,
  integer,
  nonEmptyString,
  oneOf,
  stringList,
  unchecked,
} from './value-schemas.ts'

/** Sections that other parts of the product read now or later. They are accepted but not read here. */
const UNCHECKED_SECTIONS = ['store'] as const

const SERVER_TYPES = [
  'stdio',
  'local',
  'http',
  'streamable-http',
  'streamableHttp',
  'remote',
  'sse',
  'docker-gateway',
  'server',
  'client',
] as const

/** One entry of `mcp_servers`. server-entry.ts checks which keys belong together. */
const serverParts = object('a mapping with "command" or "url"', {
  ...COMMON_KEYS,
  ...PROGRAM_KEYS,
  type: optional(oneOf(SERVER_TYPES)),
  command: optional(either('a program, such as "npx"', coercedString, list('a list of strings', coercedString))),
  args: optional(list('a list of strings, such as ["-y", "my-server"]', coercedString)),
  per: optional(oneOf(['gateway', 'session'])),
  url: optional(nonEmptyString('an address such as "https://host/mcp"')),
  httpUrl: optional(nonEmptyString('an address such as "https://host/mcp"')),
  headers: optional(stringMap('{Authorization: "Bearer ${MY_TOKEN}"}')),
})

export const serverSchema = restricting(serverParts, RESTRICTING_SERVER_KEYS, RESTRICTING_KEY_HINTS)

const gatewaySchema = object('a mapping such as {port: 4747}', {
  host: optional(nonEmptyString('an address to listen on')),
  port: optional(integer(0, 65_535)),
  naming: optional(oneOf(['prefixed', 'mcp', 'bare'])),
  allowRemote: optional(flag()),
  allowedHosts: optional(stringList('a list of host names')),
  allowedOrigins: optional(stringList('a list of origins')),
  startupWait: optional(duration({ defaultUnit: 'none', min: 0 })),
  linger: optional(duration({ defaultUnit: 'none', min: 0 })),
  maxBody: optional(byteSize()),
  maxSessions: optional(integer(1, 1_000_000)),
  maxCallsInFlight: optional(integer(1, 1_000_000)),
})

const ALGORITHMS = [
  'HS256',
  'HS384',
  'HS512',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const

const jwtParts = object('a mapping such as {jwks_uri: …, issuers: […]}', {
  issuers: optional(stringList('a list of issuers')),
  audience: optional(either('a string or a list of strings', nonEmptyString(), stringList())),
  algorithms: optional(list('a list of algorithms, such as [RS256]', oneOf(ALGORITHMS))),
  jwksUri: optional(nonEmptyString('an address such as "https://issuer/jwks.json"')),
  secret: optional(nonEmptyString('a string, best as "${JWT_SECRET}"')),
  clockTolerance: optional(duration({ defaultUnit: 's', min: 0 })),
  maxAge: optional(duration({ defaultUnit: 's', min: 1_000 })),
})
const jwtSchema = restricting(jwtParts, ['issuers', 'audience', 'algorithms', 'maxAge'])

const authSchema = object('a mapping such as {jwt: {…}}', { jwt: optional(jwtSchema) })

const DAY_MS = 86_400_000

const auditSchema = object('a mapping such as {durability: power}', {
  durability: optional(oneOf(['process', 'power'])),
  required: optional(flag()),
  arguments: optional(oneOf(['none', 'shape', 'redacted', 'full'])),
  retention: optional(
    object('a mapping such as {age: 30d, size: 1GB}', {
      age: optional(duration({ defaultUnit: 'none', min: 60_000, max: 36_500 * DAY_MS })),
      size: optional(byteSize('1MB', '100TB')),
    }),
  ),
})

const telemetrySchema = object('a mapping such as {prometheus: true}', {
  otlp: optional(
    either(
      'an address such as "http://127.0.0.1:4318", or a mapping such as {endpoint: …, headers: {…}}',
      nonEmptyString('an address such as "http://127.0.0.1:4318"'),
      object('a mapping such as {endpoint: …, headers: {…}}', {
        endpoint: optional(nonEmptyString('an address such as "http://127.0.0.1:4318"')),
        headers: optional(stringMap('{Authorization: "Bearer ${MY_TOKEN}"}')),
      }),
    ),
  ),
  prometheus: optional(flag()),
})

const sectionParts = object('a mapping such as {mcp_servers: {…}}', {
  $schema: optional(anything),
  gateway: optional(gatewaySchema),
  auth: optional(authSchema),
  audit: optional(auditSchema),
  governance: optional(governanceSchema),
  telemetry: optional(telemetrySchema),
  isolation: optional(isolationSchema),
  agents: optional(agentsSchema),
  context: optional(contextSchema),
  labels: optional(labelsSchema),
  sandbox: optional(sandboxSchema),
  mcpServers: optional(anything),
  // The paths are read separately, without expanding variables, together with the files that they name.
  include: optional(either('a file or a list of files', nonEmptyString(), stringList('a list of files'))),
  ...unchecked(UNCHECKED_SECTIONS),
})

/** All sections except the servers, which are read one by one. */
export const sectionsSchema = restricting(sectionParts, [
  ...['agents', 'context', 'governance', 'isolation', 'labels', 'sandbox'],
])

export type ServerEntry = ValueOf<typeof serverSchema>
export type GatewaySection = ValueOf<typeof gatewaySchema>
export type JwtSection = ValueOf<typeof jwtSchema>
export type AuditSection = ValueOf<typeof auditSchema>
export type TelemetrySection = ValueOf<typeof telemetrySchema>

/** The JSON Schema for editors: every key in both spellings, values as they are written in the file. */
export function buildJsonSchema(): JsonSchema {
  const anyServer = object('a mapping', { ...dockerGatewaySchema.shape, ...serverSchema.shape })
  const mcpServers = optional(record('a mapping of names to servers', anyServer))
  const schema = object('a mapping', { ...sectionsSchema.shape, mcpServers }).jsonSchema()
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...spellBothWays(schema),
    title: 'Sallyport config.yaml',
  }
}

function spellBothWays(schema: JsonSchema): JsonSchema {
  const { properties, additionalProperties, items, anyOf } = schema
  return {
    ...schema,
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).flatMap(bothSpellings)) }),
    ...(additionalProperties && { additionalProperties: spellBothWays(additionalProperties) }),
    ...(items && { items: spellBothWays(items) }),
    ...(anyOf && { anyOf: anyOf.map(spellBothWays) }),
  }
}

function bothSpellings([key, schema]: [string, JsonSchema]): [string, JsonSchema][] {
  const spelled = spellBothWays(schema)
  return [
    [key, spelled],
    [toSnakeCase(key), spelled],
  ]
}
