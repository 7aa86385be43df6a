import { join } from 'node:path'
import { type AgentOverlay, CALL_PATIENCE_S, START_PATIENCE_S } from '../agent-overlay.ts'
import { createOverlay, settingsWith } from '../overlay-parts.ts'

const FILE = 'config.yaml'
/** What a configuration must say besides. */
const REQUIRED = { name: 'sallyport', version: '1.0.0', schema: 'v1' }

/** Another configuration in place of the user's, with all that theirs says but the servers. */
export const continueOverlay: AgentOverlay = {
  // An agent from the hub may bring servers.
  reserved: ['--config', '--mcp', '--agent'],
  stays: [],
  sources: [
    { name: 'configuration of the user', state: 'closed', means: '`--config`' },
    { name: 'flags', state: 'refused', means: '`--config`, `--mcp`, `--agent`' },
  ],
  entry: (window) => ({
    ...window,
    connectionTimeout: START_PATIENCE_S * 1_000,
    requestOptions: { timeout: CALL_PATIENCE_S },
  }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const list = servers.map(({ name, entry }) => ({ ...entry, name }))
    return createOverlay({
      args: ['--config', join(folder, FILE), ...args],
      // JSON is YAML.
      files: { [FILE]: { ...REQUIRED, ...settingsWith(request, 'mcpServers', list) } },
    })
  },
}
