/** The keys of a mapping: `leaf` for a value, `names` where the keys inside are other people's, or keys of its own. */
export interface KnownKeys {
  readonly [key: string]: 'leaf' | 'names' | KnownKeys
}

const leafKeys = (...keys: readonly string[]): KnownKeys => Object.fromEntries(keys.map((key) => [key, 'leaf']))

const JWT_KEYS = leafKeys(
  'secret',
  'jwksUri',
  'publicKey',
  'algorithms',
  'issuers',
  'audience',
  'clockTolerance',
  'maxAge',
)

/** A kit server's own settings. */
export const SERVER_KEYS: KnownKeys = {
  ...leafKeys('type', 'name', 'title', 'version', 'instructions', 'description'),
  ...leafKeys('host', 'port', 'path', 'allowedHosts', 'allowedOrigins', 'dev', 'dataFolder'),
  auth: { jwt: JWT_KEYS, resourceMetadata: 'leaf' },
}

const CONNECTION_KEYS: KnownKeys = {
  ...leafKeys('type', 'title', 'description', 'url', 'httpUrl', 'urlIsolated', 'command', 'args', 'cwd', 'era'),
  ...leafKeys('timeout', 'readTimeout', 'timeoutSeconds', 'toolTimeoutSec', 'toolTimeoutMs', 'trusted'),
  ...leafKeys('startupTimeout', 'startupTimeoutSec', 'startupTimeoutMs', 'idle', 'maxMessage'),
  timeouts: leafKeys('startup', 'call', 'max', 'idle'),
  env: 'names',
  environment: 'names',
  headers: 'names',
}

/** What a kit client connects to. */
export const CLIENT_KEYS: KnownKeys = CONNECTION_KEYS

/** A server behind the gateway: the gateway reads all of these, a client those that it needs to connect. */
export const UPSTREAM_KEYS: KnownKeys = {
  ...CONNECTION_KEYS,
  ...leafKeys('enabled', 'disabled', 'includeTools', 'enabledTools', 'excludeTools', 'disabledTools', 'per'),
  ...leafKeys('clientApproval', 'detect', 'image', 'isolated', 'isolatedTools', 'mounts', 'network', 'sandbox'),
  ...leafKeys('sensitivePaths', 'sensitivity', 'allowUnsandboxed', 'driver', 'forwards', 'oauth', 'result', 'trust'),
  ...leafKeys('enabledServers', 'servers', 'catalogs', 'profile', 'tools', 'secrets', 'interceptors', 'extraArgs'),
  ...leafKeys('blockNetwork', 'blockSecrets', 'verifySignatures', 'longLived', 'static', 'cpus', 'memory'),
  ...leafKeys('transport', 'port'),
}
