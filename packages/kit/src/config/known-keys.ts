/** The keys of a mapping: `leaf` for a value, `names` where the keys inside are other people's, or keys of its own. */
export interface Keys {
  readonly [key: string]: 'leaf' | 'names' | Keys
}

const leaves = (...keys: readonly string[]): Keys => Object.fromEntries(keys.map((key) => [key, 'leaf']))

const JWT_KEYS = leaves(
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
export const SERVER_KEYS: Keys = {
  ...leaves('type', 'name', 'title', 'version', 'instructions', 'description'),
  ...leaves('host', 'port', 'path', 'allowedHosts', 'allowedOrigins', 'dev', 'dataFolder'),
  auth: { jwt: JWT_KEYS, resourceMetadata: 'leaf' },
}

const CONNECTION_KEYS: Keys = {
  ...leaves('type', 'title', 'description', 'url', 'httpUrl', 'urlIsolated', 'command', 'args', 'cwd', 'era'),
  ...leaves('timeout', 'readTimeout', 'timeoutSeconds', 'toolTimeoutSec', 'toolTimeoutMs', 'trusted'),
  ...leaves('startupTimeout', 'startupTimeoutSec', 'startupTimeoutMs', 'idle', 'maxMessage'),
  timeouts: leaves('startup', 'call', 'max', 'idle'),
  env: 'names',
  environment: 'names',
  headers: 'names',
}

/** What a kit client connects to. */
export const CLIENT_KEYS: Keys = CONNECTION_KEYS

/** A server behind the gateway: the gateway reads all of these, a client those that it needs to connect. */
export const UPSTREAM_KEYS: Keys = {
  ...CONNECTION_KEYS,
  ...leaves('enabled', 'disabled', 'includeTools', 'enabledTools', 'excludeTools', 'disabledTools', 'per'),
  ...leaves('clientApproval', 'detect', 'image', 'isolated', 'isolatedTools', 'mounts', 'network', 'sandbox'),
  ...leaves('sensitivePaths', 'sensitivity', 'allowUnsandboxed', 'driver', 'forwards', 'oauth', 'result', 'trust'),
  ...leaves('enabledServers', 'servers', 'catalogs', 'profile', 'tools', 'secrets', 'interceptors', 'extraArgs'),
  ...leaves('blockNetwork', 'blockSecrets', 'verifySignatures', 'longLived', 'static', 'cpus', 'memory'),
  ...leaves('transport', 'port'),
}
