import { join, resolve } from 'node:path'
import { type AgentOverlay, CALL_TIMEOUT_S, STARTUP_TIMEOUT_S } from '../agent-overlay.ts'
import { createOverlay, settingsWithServers } from '../create-overlay.ts'
import { findFlagValues } from '../flag-values.ts'
import { fileMayContain, type SourceSearch } from '../server-sources.ts'

const FILE = 'config.yaml'
/** Other keys that a configuration must have. */
const REQUIRED = { name: 'sallyport', version: '1.0.0', schema: 'v1' }

/** Replaces the user's configuration by one with the same settings but other servers. */
export const continueOverlay: AgentOverlay = {
  // An agent from the hub may add servers.
  reservedFlags: ['--config', '--mcp', '--agent'],
  // They ignore `--config`.
  reservedCommands: ['ls', 'review'],
  remainingScopes: [],
  sources: [
    { name: 'configuration of the user', state: 'closed', mechanism: '`--config`' },
    {
      name: 'blocks that flags name',
      state: 'refused',
      mechanism: '`mcpServers` in a file of `--rule`, `--model` or `--prompt`; any that comes from the hub',
      find: findBlocksWithServers,
    },
    { name: 'flags', state: 'refused', mechanism: '`--config`, `--mcp`, `--agent`; `ls` and `review`' },
  ],
  createEntry: (window) => ({
    ...window,
    connectionTimeout: STARTUP_TIMEOUT_S * 1_000,
    requestOptions: { timeout: CALL_TIMEOUT_S },
  }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const list = servers.map(({ name, entry }) => ({ ...entry, name }))
    return createOverlay({
      args: ['--config', join(folder, FILE), ...args],
      // JSON is YAML.
      files: { [FILE]: { ...REQUIRED, ...settingsWithServers(request, 'mcpServers', list) } },
    })
  },
}

const SLUG = /^[\w.-]+\/[\w.@-]+$/

/** Continue uses all content of a block, whichever flag names it. */
async function findBlocksWithServers({ host, args }: SourceSearch): Promise<readonly string[]> {
  const values = findFlagValues(args, ['--rule', '--model', '--prompt']).map(({ value }) => value)
  const blocks = await Promise.all(
    values.map(async (value) => {
      if (!/^([./~]|file:\/)/.test(value)) return SLUG.test(value) ? [value] : []
      const path = resolve(host.cwd, value.replace(/^file:\/\//, '').replace(/^~/, host.home))
      return (await fileMayContain(path, 'mcpServers')) ? [path] : []
    }),
  )
  return blocks.flat()
}
