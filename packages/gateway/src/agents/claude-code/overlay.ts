import { join } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import { type AgentOverlay, CALL_TIMEOUT_S } from '../agent-overlay.ts'
import { createOverlay, entriesByName } from '../create-overlay.ts'
import { findFlagValues, hasFlag } from '../flag-values.ts'
import { drivingProgramSource } from '../server-sources.ts'

const FILE = 'mcp.json'

/** `--strict-mcp-config` leaves user, local and project servers out. */
export const claudeCodeOverlay: AgentOverlay = {
  reservedFlags: ['--mcp-config', '--strict-mcp-config', '--cloud', '--environment', '--teleport', '--desktop'],
  remainingScopes: [],
  // Sessions in the background or elsewhere, with servers of their own.
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
  // Servers of an agent that a flag describes are started, whatever `--strict-mcp-config` says.
  findWideningFlag: (args) => findFlagValues(args, ['--agents']).find(({ value }) => !hasNoServers(value))?.flag,
  isAttended: (args) => !hasFlag(args, '-p') && !hasFlag(args, '--print'),
  // Otherwise the tools would be hidden behind a search in the first turn.
  createEntry: (window) => ({ type: 'stdio', ...window, alwaysLoad: true, timeout: CALL_TIMEOUT_S * 1_000 }),
  overlay: (request) => {
    const { folder, servers, ours, args } = request
    // Written with `=`: these flags take many values, and would take the user's prompt for one.
    const strict = [`--mcp-config=${join(folder, FILE)}`, '--strict-mcp-config']
    const unasked = ours.map((name) => `--allowedTools=mcp__${name}`)
    return createOverlay({
      args: [...strict, ...unasked, ...args],
      files: { [FILE]: { mcpServers: entriesByName(servers) } },
    })
  },
}

/** Of a file, or of what is no JSON, nothing is known. */
function hasNoServers(agents: string): boolean {
  try {
    const described: unknown = JSON.parse(agents)
    if (!isJsonObject(described)) return false
    return Object.values(described).every((agent) => isJsonObject(agent) && !Object.hasOwn(agent, 'mcpServers'))
  } catch {
    return false
  }
}
