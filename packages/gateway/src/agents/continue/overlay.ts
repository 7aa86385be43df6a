import { join, resolve } from 'node:path'
import { type AgentOverlay, CALL_PATIENCE_S, START_PATIENCE_S } from '../agent-overlay.ts'
import { flagValues } from '../flag-values.ts'
import { createOverlay, settingsWith } from '../overlay-parts.ts'
import { mayHold, type SourceSearch } from '../server-sources.ts'

const FILE = 'config.yaml'
/** What a configuration must say besides. */
const REQUIRED = { name: 'sallyport', version: '1.0.0', schema: 'v1' }

/** Another configuration in place of the user's, with all that theirs says but the servers. */
export const continueOverlay: AgentOverlay = {
  // An agent from the hub may bring servers.
  reserved: ['--config', '--mcp', '--agent'],
  // They take no notice of `--config`.
  reservedCommands: ['ls', 'review'],
  stays: [],
  sources: [
    { name: 'configuration of the user', state: 'closed', means: '`--config`' },
    {
      name: 'blocks that flags name',
      state: 'refused',
      means: '`mcpServers` in a file of `--rule`, `--model` or `--prompt`; any that comes from the hub',
      find: blocksWithServers,
    },
    { name: 'flags', state: 'refused', means: '`--config`, `--mcp`, `--agent`; `ls` and `review`' },
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

const SLUG = /^[\w.-]+\/[\w.@-]+$/

/** A block is taken for what it holds, whichever flag names it. */
async function blocksWithServers({ place, args }: SourceSearch): Promise<readonly string[]> {
  const values = flagValues(args, ['--rule', '--model', '--prompt']).map(({ value }) => value)
  const blocks = await Promise.all(
    values.map(async (value) => {
      if (!/^([./~]|file:\/)/.test(value)) return SLUG.test(value) ? [value] : []
      const path = resolve(place.cwd, value.replace(/^file:\/\//, '').replace(/^~/, place.home))
      return (await mayHold(path, 'mcpServers')) ? [path] : []
    }),
  )
  return blocks.flat()
}
