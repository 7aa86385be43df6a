import { join } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import { type AgentOverlay, CALL_TIMEOUT_S, STARTUP_TIMEOUT_S } from '../agent-overlay.ts'
import { folderFromVariable } from '../agent-paths.ts'
import { createOverlay, entriesByName, resolveFolder, settingsWithServers } from '../create-overlay.ts'
import { readNativeFile } from '../files/read-native-file.ts'
import {
  drivingProgramSource,
  findFilesWithKey,
  projectFilesSource,
  resumedSessionSource,
  type SourceSearch,
} from '../server-sources.ts'

const FILE = 'mcp.json'

/** A separate home with links to all of the user's files except the one with the servers. */
export const kimiOverlay: AgentOverlay = {
  reservedFlags: ['--mcp-config', '--mcp-config-file'],
  // They serve clients, which add servers, or use a running process.
  reservedCommands: ['web', 'server', 'rc', 'remote'],
  remainingScopes: ['project'],
  sources: [
    { name: 'file of the user', state: 'closed', mechanism: '`KIMI_CODE_HOME`' },
    projectFilesSource('`.mcp.json`, `.kimi-code/mcp.json`'),
    {
      name: 'plugins',
      state: 'refused',
      mechanism: '`mcpServers` of an installed plugin, wherever it is',
      find: findPluginsWithServers,
    },
    // Kimi's help does not list the last two, but Kimi prints them when a session ends.
    resumedSessionSource('--session', '-S', '--resume', '-r'),
    { name: 'flags', state: 'refused', mechanism: '`--mcp-config`' },
    drivingProgramSource('acp'),
  ],
  createEntry: (window) => ({
    ...window,
    startupTimeoutMs: STARTUP_TIMEOUT_S * 1_000,
    toolTimeoutMs: CALL_TIMEOUT_S * 1_000,
  }),
  overlay: (request) =>
    createOverlay({
      args: request.args,
      environment: { KIMI_CODE_HOME: join(request.folder, 'home') },
      files: { [`home/${FILE}`]: settingsWithServers(request, 'mcpServers', entriesByName(request.servers)) },
      mirrors: [{ source: resolveFolder(request, 'KIMI_CODE_HOME', '.kimi-code'), path: 'home', except: [FILE] }],
    }),
}

const MANIFEST = { key: 'mcpServers', files: /\.json$/ }

async function findPluginsWithServers({ host }: SourceSearch): Promise<readonly string[]> {
  const plugins = join(folderFromVariable(host, 'KIMI_CODE_HOME', '.kimi-code'), 'plugins')
  const elsewhere = await readPluginRoots(join(plugins, 'installed.json'))
  const found = await Promise.all([
    findFilesWithKey(plugins, { ...MANIFEST, depth: 6 }),
    ...elsewhere.flatMap((root) =>
      [root, join(root, '.kimi-plugin')].map((folder) => findFilesWithKey(folder, MANIFEST)),
    ),
  ])
  return found.flat()
}

/** Kimi copies plugins into its own folder, but reads them from the paths in its list. */
async function readPluginRoots(list: string): Promise<readonly string[]> {
  try {
    const parsed: unknown = JSON.parse((await readNativeFile(list)) ?? '')
    const plugins = isJsonObject(parsed) && Array.isArray(parsed.plugins) ? parsed.plugins : []
    return plugins.flatMap((plugin) => (isJsonObject(plugin) && typeof plugin.root === 'string' ? [plugin.root] : []))
  } catch {
    // There is no such file, or Kimi cannot read it either.
    return []
  }
}
