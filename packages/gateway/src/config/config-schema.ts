// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the examples in messages show references.

import { z } from 'zod'
import { byteSize, duration, flag, oneOf, plainText, text, textList, wholeNumber } from './schema-parts.ts'

/** Keys of the contract that other parts of the product read, or will: accepted as they are, not read here. */
const UNREAD_SECTIONS = [
  'agents',
  'context',
  'governance',
  'include',
  'isolation',
  'sandbox',
  'store',
  'telemetry',
] as const

const UNREAD_SERVER_KEYS = [
  'allowUnsandboxed',
  'clientApproval',
  'detect',
  'driver',
  'forwards',
  'image',
  'isolated',
  'isolatedTools',
  'mounts',
  'network',
  'oauth',
  'result',
  'sandbox',
  'sensitivePaths',
  'sensitivity',
  'trust',
  'trusted',
  'urlIsolated',
] as const

function unread<const Keys extends readonly string[]>(keys: Keys) {
  const shape = Object.fromEntries(keys.map((key) => [key, z.unknown().optional()]))
  return shape as Record<Keys[number], z.ZodOptional<z.ZodUnknown>>
}

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

const atLeastMs = { least: 1 } as const

const timeouts = z.object(
  {
    startup: duration({ bare: 'none', ...atLeastMs }).optional(),
    call: duration({ bare: 'none', ...atLeastMs }).optional(),
    max: duration({ bare: 'none', ...atLeastMs }).optional(),
    idle: duration({ bare: 'none', ...atLeastMs }).optional(),
  },
  { error: 'a mapping such as {startup: 30s, call: 60s}' },
)

const textMap = (example: string) =>
  z.record(z.string(), plainText, { error: `a mapping of names to texts, such as ${example}` })

/** One entry of `mcp_servers`. Which keys belong together is judged in server-entry.ts. */
export const serverSchema = z.object(
  {
    type: oneOf(SERVER_TYPES).optional(),
    title: text().max(200, { error: 'a text of at most 200 characters' }).optional(),
    description: z.string({ error: 'a text' }).optional(),
    enabled: flag().optional(),
    disabled: flag().optional(),
    command: z.union([plainText, z.array(plainText)], { error: 'a program, such as "npx"' }).optional(),
    args: z.array(plainText, { error: 'a list of texts, such as ["-y", "my-server"]' }).optional(),
    env: textMap('{TOKEN: "${MY_TOKEN}"}').optional(),
    environment: textMap('{TOKEN: "${MY_TOKEN}"}').optional(),
    cwd: text('a folder').optional(),
    per: oneOf(['gateway', 'session']).optional(),
    url: text('an address such as "https://host/mcp"').optional(),
    httpUrl: text('an address such as "https://host/mcp"').optional(),
    headers: textMap('{Authorization: "Bearer ${MY_TOKEN}"}').optional(),
    era: oneOf(['auto', 'legacy', 'modern']).optional(),
    includeTools: textList('a list of tool names').optional(),
    enabledTools: textList('a list of tool names').optional(),
    excludeTools: textList('a list of tool names').optional(),
    disabledTools: textList('a list of tool names').optional(),
    timeouts: timeouts.optional(),
    timeout: duration({ bare: 'ms', ...atLeastMs }).optional(),
    readTimeout: duration({ bare: 's', ...atLeastMs }).optional(),
    timeoutSeconds: duration({ bare: 's', ...atLeastMs }).optional(),
    toolTimeoutSec: duration({ bare: 's', ...atLeastMs }).optional(),
    toolTimeoutMs: duration({ bare: 'ms', ...atLeastMs }).optional(),
    startupTimeout: duration({ bare: 's', ...atLeastMs }).optional(),
    startupTimeoutSec: duration({ bare: 's', ...atLeastMs }).optional(),
    startupTimeoutMs: duration({ bare: 'ms', ...atLeastMs }).optional(),
    idle: duration({ bare: 'none', ...atLeastMs }).optional(),
    maxMessage: byteSize().optional(),
    ...unread(UNREAD_SERVER_KEYS),
  },
  { error: 'a mapping with "command" or "url"' },
)

const gatewaySchema = z.object(
  {
    host: text('an address to listen on').optional(),
    port: wholeNumber(0, 65_535).optional(),
    naming: oneOf(['prefixed', 'bare']).optional(),
    allowRemote: flag().optional(),
    allowedHosts: textList('a list of host names').optional(),
    allowedOrigins: textList('a list of origins').optional(),
    startupWait: duration({ bare: 'none', least: 0 }).optional(),
    linger: duration({ bare: 'none', least: 0 }).optional(),
    maxBody: byteSize().optional(),
    maxSessions: wholeNumber(1, 1_000_000).optional(),
    maxCallsInFlight: wholeNumber(1, 1_000_000).optional(),
  },
  { error: 'a mapping such as {port: 4747}' },
)

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
] as const

const jwtSchema = z.object(
  {
    issuers: textList('a list of issuers').optional(),
    audience: z.union([text(), textList()], { error: 'a text or a list of texts' }).optional(),
    algorithms: z.array(oneOf(ALGORITHMS), { error: 'a list of algorithms, such as [RS256]' }).optional(),
    jwksUri: text('an address such as "https://issuer/jwks.json"').optional(),
    secret: text('a text, best as "${JWT_SECRET}"').optional(),
    clockTolerance: duration({ bare: 's', least: 0 }).optional(),
  },
  { error: 'a mapping such as {jwks_uri: …, issuers: […]}' },
)

const authSchema = z.object({ jwt: jwtSchema.optional() }, { error: 'a mapping such as {jwt: {…}}' })

const auditSchema = z.object(
  { durability: oneOf(['process', 'power']).optional(), required: flag().optional() },
  { error: 'a mapping such as {durability: power}' },
)

/** Everything but the servers, which are read one by one. */
export const sectionsSchema = z.object(
  {
    $schema: z.unknown().optional(),
    gateway: gatewaySchema.optional(),
    auth: authSchema.optional(),
    audit: auditSchema.optional(),
    mcpServers: z.unknown().optional(),
    ...unread(UNREAD_SECTIONS),
  },
  { error: 'a mapping such as {mcp_servers: {…}}' },
)

export type ServerEntry = z.infer<typeof serverSchema>
export type GatewaySection = z.infer<typeof gatewaySchema>
export type JwtSection = z.infer<typeof jwtSchema>
export type AuditSection = z.infer<typeof auditSchema>

interface SchemaNode {
  properties?: Record<string, SchemaNode>
  additionalProperties?: SchemaNode | boolean
  [key: string]: unknown
}

/** What `$schema` offers to editors: every key in both spellings, values as they are written. */
export function buildJsonSchema(): Readonly<Record<string, unknown>> {
  const whole = sectionsSchema.extend({ mcpServers: z.record(z.string(), serverSchema).optional() })
  const schema = z.toJSONSchema(whole, { io: 'input', target: 'draft-7' })
  spellBothWays(schema as SchemaNode)
  return { ...schema, title: 'Sallyport config.yaml' }
}

function spellBothWays(node: SchemaNode): void {
  for (const [key, value] of Object.entries(node.properties ?? {})) {
    spellBothWays(value)
    if (node.properties !== undefined) node.properties[snakeCase(key)] ??= value
  }
  if (typeof node.additionalProperties === 'object') spellBothWays(node.additionalProperties)
}

export const snakeCase = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const camelCase = (key: string): string =>
  key.replaceAll(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
