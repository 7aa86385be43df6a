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

/** A home of its own with everything of the user's linked but the file of the servers. */
export const kimiOverlay: AgentOverlay = {
  reservedFlags: ['--mcp-config', '--mcp-config-file'],
  // They serve clients, which bring servers, or use a process that runs already.
  reservedCommands: ['web', 'server', 'rc', 'remote'],
  remainingScopes: ['project'],
  sources: [
    { name: 'file of the user', state: 'closed', mechanism: '`KIMI_CODE_HOME`' },
    projectFilesSource('`.mcp.json`, `.kimi-code/mcp.json`'),
    {
      name: 'plugins',
      state: 'refused',
      mechanism: '`mcpServers` of an installed plugin, wherever it lies',
      find: findPluginsWithServers,
    },
    // The help of Kimi does not name the last two, which it tells whoever leaves a session.
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

/** Kimi copies plugins into its own folder, but reads them from wherever its list says. */
async function readPluginRoots(list: string): Promise<readonly string[]> {
  try {
    const said: unknown = JSON.parse((await readNativeFile(list)) ?? '')
    const plugins = isJsonObject(said) && Array.isArray(said.plugins) ? said.plugins : []
    return plugins.flatMap((plugin) => (isJsonObject(plugin) && typeof plugin.root === 'string' ? [plugin.root] : []))
  } catch {
    // There is no such file, or Kimi cannot read it either.
    return []
  }
}
