import { join, resolve } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import type { AgentOverlay } from '../agent-overlay.ts'
import { folderFromVariable, pathFromVariable } from '../agent-paths.ts'
import { createOverlay, entriesByName, resolveFolder, settingsWithServers } from '../create-overlay.ts'
import { findEnabledPluginServers } from '../enabled-plugins.ts'
import { readNativeFile } from '../files/read-native-file.ts'
import { findFlagValues, hasFlag } from '../flag-values.ts'
import {
  drivingProgramSource,
  fileMayContain,
  findFilesWithKey,
  projectFilesSource,
  resumedSessionSource,
  type ServerSource,
  type SourceSearch,
} from '../server-sources.ts'

const FILE = 'mcp.json'
const CONFIG_FOLDER = '.factory'

const LONG_FLAG_SOURCE = resumedSessionSource('--resume', '--fork', '--session-id', '--worktree')
/** `-r` and `-s` are short flags for resuming in one mode each; in the other mode they mean something else. */
const RESUME_SOURCE: ServerSource = {
  ...LONG_FLAG_SOURCE,
  find: (search) => [
    ...LONG_FLAG_SOURCE.find(search),
    ...[search.args.includes('exec') ? '-s' : '-r', '-w'].filter((flag) => hasFlag(search.args, flag)),
  ],
}

/** A separate home with links to all of the user's files except the one with the servers. */
export const droidOverlay: AgentOverlay = {
  reservedFlags: [],
  // `resume` works in the folder of the session, which is not searched.
  reservedCommands: ['daemon', 'computer', 'resume'],
  remainingScopes: ['project'],
  sources: [
    { name: 'file of the user', state: 'closed', mechanism: '`FACTORY_HOME_OVERRIDE`' },
    projectFilesSource('`.factory/mcp.json`'),
    {
      name: 'plugins',
      state: 'refused',
      mechanism: '`mcp.json` of an installed plugin, wherever it is, or of one that its settings switch on',
      find: findPluginsWithServers,
    },
    {
      name: 'settings for one run',
      state: 'refused',
      mechanism:
        '`mcpServers` in a file that `--settings`, `FACTORY_RUNTIME_SETTINGS_PATH` or a variable of its organization names; `FACTORY_ORG_MANAGED_SETTINGS_URL`',
      find: findRunSettingsWithServers,
    },
    {
      name: 'settings of the system',
      state: 'refused',
      mechanism: '`mcpServers` or `enabledPlugins` in `/etc/factory`',
      find: findSystemSettings,
    },
    RESUME_SOURCE,
    drivingProgramSource('--input-format', 'acp', 'acp-daemon'),
    { name: 'its organization', state: 'open', mechanism: 'servers and connectors that Factory provides' },
  ],
  createEntry: (window) => ({ type: 'stdio', ...window, disabled: false }),
  overlay: (request) =>
    createOverlay({
      args: request.args,
      environment: { FACTORY_HOME_OVERRIDE: join(request.folder, 'home') },
      files: {
        [`home/${CONFIG_FOLDER}/${FILE}`]: settingsWithServers(request, 'mcpServers', entriesByName(request.servers)),
      },
      mirrors: [
        {
          source: join(resolveFolder(request, 'FACTORY_HOME_OVERRIDE', '.'), CONFIG_FOLDER),
          path: `home/${CONFIG_FOLDER}`,
          except: [FILE],
        },
      ],
    }),
}

const PLUGIN_FILES = { key: 'mcpServers', files: /\.json$/, depth: 6 }

async function findPluginsWithServers({ host, folders }: SourceSearch): Promise<readonly string[]> {
  const homes = [
    join(folderFromVariable(host, 'FACTORY_HOME_OVERRIDE'), CONFIG_FOLDER),
    ...folders.map((one) => join(one, CONFIG_FOLDER)),
  ]
  const installed = (await Promise.all(homes.map((home) => listInstalledPlugins(join(home, 'plugins'))))).flat()
  const findPluginServers = (folder: string): Promise<readonly string[]> => findFilesWithKey(folder, PLUGIN_FILES)
  const pluginFolders = homes.map((home) => join(home, 'plugins'))
  const found = await Promise.all([
    ...[...pluginFolders, ...installed.map(({ path }) => path)].map(findPluginServers),
    findEnabledPluginServers({
      files: homes.flatMap((home) => [join(home, 'settings.json'), join(home, 'settings.local.json')]),
      cwd: host.cwd,
      isInstalled: (id) => installed.some((plugin) => plugin.id === id),
      findPluginServers,
    }),
  ])
  return found.flat()
}

interface InstalledPlugin {
  readonly id: string
  readonly path: string
}

/** Droid reads plugins from the paths in its list; newer versions have one file for each plugin. */
async function listInstalledPlugins(plugins: string): Promise<readonly InstalledPlugin[]> {
  const lists = await findFilesWithKey(plugins, { key: 'installPath', files: /installed_plugins/, depth: 1 })
  return (await Promise.all(lists.map(readPluginList))).flat()
}

async function readPluginList(list: string): Promise<readonly InstalledPlugin[]> {
  try {
    const parsed: unknown = JSON.parse((await readNativeFile(list)) ?? '')
    if (!isJsonObject(parsed)) return []
    const named = isJsonObject(parsed.plugins)
      ? Object.entries(parsed.plugins)
      : [[String(parsed.pluginId), parsed.entry]]
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

async function findSystemSettings({ host }: SourceSearch): Promise<readonly string[]> {
  const folders: Partial<Record<NodeJS.Platform, string>> = {
    darwin: '/Library/Application Support/Factory',
    win32: 'C:\\Program Files\\Factory',
  }
  const folder = folders[host.platform] ?? '/etc/factory'
  const keys = ['mcpServers', 'enabledPlugins']
  return (await Promise.all(keys.map((key) => findFilesWithKey(folder, { key, files: /\.json$/ })))).flat()
}

/** The settings at this URL are not known before the run. */
const SETTINGS_URL_VARIABLE = 'FACTORY_ORG_MANAGED_SETTINGS_URL'

const SETTINGS_VARIABLES = ['FACTORY_RUNTIME_SETTINGS_PATH', 'FACTORY_ORG_MANAGED_SETTINGS_LOCAL_PATH']

async function findRunSettingsWithServers({ host, args }: SourceSearch): Promise<readonly string[]> {
  const given = findFlagValues(args, ['--settings']).map(({ value }) => resolve(host.cwd, value))
  const named = SETTINGS_VARIABLES.map((variable) => pathFromVariable(host, variable)).filter(
    (path) => path !== undefined,
  )
  const found = [...given, ...named].map(async (path) => ((await fileMayContain(path, 'mcpServers')) ? [path] : []))
  return [
    ...(host.environment[SETTINGS_URL_VARIABLE] ? [SETTINGS_URL_VARIABLE] : []),
    ...(await Promise.all(found)).flat(),
  ]
}
