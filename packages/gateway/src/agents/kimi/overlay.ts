import { join } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import { namedFolder } from '../agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S, START_PATIENCE_S } from '../agent-overlay.ts'
import { byName, createOverlay, folderFrom, settingsWith } from '../overlay-parts.ts'
import { readNativeFile } from '../read-native-file.ts'
import { drivenBy, filesWithServers, otherFolders, projectFiles, type SourceSearch } from '../server-sources.ts'

const FILE = 'mcp.json'

/** A home of its own with everything of the user's linked but the file of the servers. */
export const kimiOverlay: AgentOverlay = {
  reserved: ['--mcp-config', '--mcp-config-file'],
  // They serve clients, which bring servers, or use a process that runs already.
  reservedCommands: ['web', 'server', 'rc', 'remote'],
  stays: ['project'],
  sources: [
    { name: 'file of the user', state: 'closed', means: '`KIMI_CODE_HOME`' },
    projectFiles('`.mcp.json`, `.kimi-code/mcp.json`'),
    {
      name: 'plugins',
      state: 'refused',
      means: '`mcpServers` of an installed plugin, wherever it lies',
      find: pluginsWithServers,
    },
    // The help of Kimi does not name the last two, which it tells whoever leaves a session.
    otherFolders('--session', '-S', '--resume', '-r'),
    { name: 'flags', state: 'refused', means: '`--mcp-config`' },
    drivenBy('acp'),
  ],
  entry: (window) => ({
    ...window,
    startupTimeoutMs: START_PATIENCE_S * 1_000,
    toolTimeoutMs: CALL_PATIENCE_S * 1_000,
  }),
  overlay: (request) =>
    createOverlay({
      args: request.args,
      environment: { KIMI_CODE_HOME: join(request.folder, 'home') },
      files: { [`home/${FILE}`]: settingsWith(request, 'mcpServers', byName(request.servers)) },
      mirrors: [{ source: folderFrom(request, 'KIMI_CODE_HOME', '.kimi-code'), path: 'home', except: [FILE] }],
    }),
}

const MANIFEST = { key: 'mcpServers', files: /\.json$/ }

async function pluginsWithServers({ place }: SourceSearch): Promise<readonly string[]> {
  const plugins = join(namedFolder(place, 'KIMI_CODE_HOME', '.kimi-code'), 'plugins')
  const elsewhere = await pluginRoots(join(plugins, 'installed.json'))
  const found = await Promise.all([
    filesWithServers(plugins, { ...MANIFEST, depth: 6 }),
    ...elsewhere.flatMap((root) =>
      [root, join(root, '.kimi-plugin')].map((folder) => filesWithServers(folder, MANIFEST)),
    ),
  ])
  return found.flat()
}

/** Kimi copies plugins into its own folder, but reads them from wherever its list says. */
async function pluginRoots(list: string): Promise<readonly string[]> {
  try {
    const said: unknown = JSON.parse((await readNativeFile(list)) ?? '')
    const plugins = isJsonObject(said) && Array.isArray(said.plugins) ? said.plugins : []
    return plugins.flatMap((plugin) => (isJsonObject(plugin) && typeof plugin.root === 'string' ? [plugin.root] : []))
  } catch {
    // There is no such file, or Kimi cannot read it either.
    return []
  }
}
