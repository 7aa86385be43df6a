import { join, resolve } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import { namedFolder, namedPath } from '../agent-folders.ts'
import type { AgentOverlay } from '../agent-overlay.ts'
import { enabledPluginsWithServers } from '../enabled-plugins.ts'
import { flagValues, hasFlag } from '../flag-values.ts'
import { byName, createOverlay, folderFrom, settingsWith } from '../overlay-parts.ts'
import { readNativeFile } from '../read-native-file.ts'
import {
  drivenBy,
  filesWithServers,
  mayHold,
  otherFolders,
  projectFiles,
  type ServerSource,
  type SourceSearch,
} from '../server-sources.ts'

const FILE = 'mcp.json'
const SHARED = '.factory'

const LONG_FLAGS = otherFolders('--resume', '--fork', '--session-id', '--worktree')
/** `-r` and `-s` mean something else in the other of the two. */
const RESUMING: ServerSource = {
  ...LONG_FLAGS,
  find: (search) => [
    ...LONG_FLAGS.find(search),
    ...[search.args.includes('exec') ? '-s' : '-r', '-w'].filter((flag) => hasFlag(search.args, flag)),
  ],
}

/** A home of its own with everything of the user's linked but the file of the servers. */
export const droidOverlay: AgentOverlay = {
  reserved: [],
  // `resume` works in the folder of the session, which is not searched.
  reservedCommands: ['daemon', 'computer', 'resume'],
  stays: ['project'],
  sources: [
    { name: 'file of the user', state: 'closed', means: '`FACTORY_HOME_OVERRIDE`' },
    projectFiles('`.factory/mcp.json`'),
    {
      name: 'plugins',
      state: 'refused',
      means: '`mcp.json` of an installed plugin, wherever it lies, or of one that its settings switch on',
      find: pluginsWithServers,
    },
    {
      name: 'settings for one run',
      state: 'refused',
      means:
        '`mcpServers` in a file that `--settings`, `FACTORY_RUNTIME_SETTINGS_PATH` or a variable of its organization names; `FACTORY_ORG_MANAGED_SETTINGS_URL`',
      find: runSettingsWithServers,
    },
    {
      name: 'settings of the system',
      state: 'refused',
      means: '`mcpServers` or `enabledPlugins` in `/etc/factory`',
      find: systemSettings,
    },
    RESUMING,
    drivenBy('--input-format', 'acp', 'acp-daemon'),
    { name: 'its organization', state: 'open', means: 'servers and connectors that Factory hands out' },
  ],
  entry: (window) => ({ type: 'stdio', ...window, disabled: false }),
  overlay: (request) =>
    createOverlay({
      args: request.args,
      environment: { FACTORY_HOME_OVERRIDE: join(request.folder, 'home') },
      files: { [`home/${SHARED}/${FILE}`]: settingsWith(request, 'mcpServers', byName(request.servers)) },
      mirrors: [
        {
          source: join(folderFrom(request, 'FACTORY_HOME_OVERRIDE', '.'), SHARED),
          path: `home/${SHARED}`,
          except: [FILE],
        },
      ],
    }),
}

const PLUGIN_FILES = { key: 'mcpServers', files: /\.json$/, depth: 6 }

async function pluginsWithServers({ place, folders }: SourceSearch): Promise<readonly string[]> {
  const homes = [join(namedFolder(place, 'FACTORY_HOME_OVERRIDE'), SHARED), ...folders.map((one) => join(one, SHARED))]
  const installed = (await Promise.all(homes.map((home) => installedIn(join(home, 'plugins'))))).flat()
  const serversIn = (folder: string): Promise<readonly string[]> => filesWithServers(folder, PLUGIN_FILES)
  const kept = homes.map((home) => join(home, 'plugins'))
  const found = await Promise.all([
    ...[...kept, ...installed.map(({ path }) => path)].map(serversIn),
    enabledPluginsWithServers({
      files: homes.flatMap((home) => [join(home, 'settings.json'), join(home, 'settings.local.json')]),
      cwd: place.cwd,
      isInstalled: (id) => installed.some((plugin) => plugin.id === id),
      serversIn,
    }),
  ])
  return found.flat()
}

interface InstalledPlugin {
  readonly id: string
  readonly path: string
}

/** Droid reads plugins from wherever its list says; newer versions have a file for each. */
async function installedIn(plugins: string): Promise<readonly InstalledPlugin[]> {
  const lists = await filesWithServers(plugins, { key: 'installPath', files: /installed_plugins/, depth: 1 })
  return (await Promise.all(lists.map(pluginsIn))).flat()
}

async function pluginsIn(list: string): Promise<readonly InstalledPlugin[]> {
  try {
    const said: unknown = JSON.parse((await readNativeFile(list)) ?? '')
    if (!isJsonObject(said)) return []
    const named = isJsonObject(said.plugins) ? Object.entries(said.plugins) : [[String(said.pluginId), said.entry]]
    return named.flatMap(([id, entries]) =>
      (Array.isArray(entries) ? entries : [entries]).flatMap((entry) =>
        isJsonObject(entry) && typeof entry.installPath === 'string'
          ? [{ id: String(id), path: entry.installPath }]
          : [],
      ),
    )
  } catch {
    // Droid cannot read it either.
    return []
  }
}

async function systemSettings({ place }: SourceSearch): Promise<readonly string[]> {
  const folders: Partial<Record<NodeJS.Platform, string>> = {
    darwin: '/Library/Application Support/Factory',
    win32: 'C:\\Program Files\\Factory',
  }
  const folder = folders[place.platform] ?? '/etc/factory'
  const keys = ['mcpServers', 'enabledPlugins']
  return (await Promise.all(keys.map((key) => filesWithServers(folder, { key, files: /\.json$/ })))).flat()
}

/** What it says is not known before the run. */
const SETTINGS_ADDRESS = 'FACTORY_ORG_MANAGED_SETTINGS_URL'

const SETTINGS_VARIABLES = ['FACTORY_RUNTIME_SETTINGS_PATH', 'FACTORY_ORG_MANAGED_SETTINGS_LOCAL_PATH']

async function runSettingsWithServers({ place, args }: SourceSearch): Promise<readonly string[]> {
  const given = flagValues(args, ['--settings']).map(({ value }) => resolve(place.cwd, value))
  const named = SETTINGS_VARIABLES.map((variable) => namedPath(place, variable)).filter((path) => path !== undefined)
  const found = [...given, ...named].map(async (path) => ((await mayHold(path, 'mcpServers')) ? [path] : []))
  return [...(place.environment[SETTINGS_ADDRESS] ? [SETTINGS_ADDRESS] : []), ...(await Promise.all(found)).flat()]
}
