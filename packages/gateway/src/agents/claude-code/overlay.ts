import { join } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import { type AgentOverlay, CALL_TIMEOUT_S } from '../agent-overlay.ts'
import { createOverlay, entriesByName } from '../create-overlay.ts'
import { findFlagValues, hasFlag } from '../flag-values.ts'
import { drivingProgramSource } from '../server-sources.ts'

const FILE = 'mcp.json'

/** `--strict-mcp-config` disables user, local and project servers. */
export const claudeCodeOverlay: AgentOverlay = {
  reservedFlags: ['--mcp-config', '--strict-mcp-config', '--cloud', '--environment', '--teleport', '--desktop'],
  remainingScopes: [],
  // Sessions in the background or on other machines, with their own servers.
  reservedCommands: ['agents', 'attach', 'respawn', 'remote-control', 'ultrareview'],
  sources: [
    {
      name: 'files of the user, of the project and for one folder',
      state: 'closed',
      mechanism: '`--strict-mcp-config`',
    },
    { name: 'files of sub-agents', state: 'closed', mechanism: '`--strict-mcp-config`' },
    { name: 'plugins', state: 'closed', mechanism: '`--strict-mcp-config`' },
    { name: 'flags', state: 'refused', mechanism: '`--mcp-config`, `--agents` with servers, `--cloud`, `--teleport`' },
    drivingProgramSource('--input-format', '--sdk-url'),
  ],
  // Servers of an agent that `--agents` defines are started despite `--strict-mcp-config`.
  findWideningFlag: (args) => findFlagValues(args, ['--agents']).find(({ value }) => !hasNoServers(value))?.flag,
  isAttended: (args) => !hasFlag(args, '-p') && !hasFlag(args, '--print'),
  // `alwaysLoad`: otherwise the model would have to search for the tools in the first turn.
  createEntry: (window) => ({ type: 'stdio', ...window, alwaysLoad: true, timeout: CALL_TIMEOUT_S * 1_000 }),
  overlay: (request) => {
    const { folder, servers, ours, args } = request
    // Written with `=`: these flags take many values, and would consume the user's prompt as one.
    const strict = [`--mcp-config=${join(folder, FILE)}`, '--strict-mcp-config']
    const allowFlags = ours.map((name) => `--allowedTools=mcp__${name}`)
    return createOverlay({
      args: [...strict, ...allowFlags, ...args],
      files: { [FILE]: { mcpServers: entriesByName(servers) } },
    })
  },
}

/** `false` for a file path or invalid JSON, because its servers are not known. */
function hasNoServers(agents: string): boolean {
  try {
    const described: unknown = JSON.parse(agents)
    if (!isJsonObject(described)) return false
    return Object.values(described).every((agent) => isJsonObject(agent) && !Object.hasOwn(agent, 'mcpServers'))
  } catch {
    return false
  }
}
