import { join, resolve } from 'node:path'
import { namedFolder, namedPath } from '../agent-folders.ts'
import type { AgentOverlay } from '../agent-overlay.ts'
import { flagValues, hasFlag } from '../flag-values.ts'
import { byName, createOverlay, folderFrom, settingsWith } from '../overlay-parts.ts'
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
      means: '`mcp.json` of an installed plugin',
      find: pluginsWithServers,
    },
    {
      name: 'settings for one run',
      state: 'refused',
      means:
        '`mcpServers` in a file that `--settings`, `FACTORY_RUNTIME_SETTINGS_PATH` or a variable of its organization names',
      find: runSettingsWithServers,
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

async function pluginsWithServers({ place, folders }: SourceSearch): Promise<readonly string[]> {
  const homes = [join(namedFolder(place, 'FACTORY_HOME_OVERRIDE'), SHARED), ...folders.map((one) => join(one, SHARED))]
  const wish = { key: 'mcpServers', files: /\.json$/, depth: 6 }
  return (await Promise.all(homes.map((home) => filesWithServers(join(home, 'plugins'), wish)))).flat()
}

const SETTINGS_VARIABLES = ['FACTORY_RUNTIME_SETTINGS_PATH', 'FACTORY_ORG_MANAGED_SETTINGS_LOCAL_PATH']

async function runSettingsWithServers({ place, args }: SourceSearch): Promise<readonly string[]> {
  const given = flagValues(args, ['--settings']).map(({ value }) => resolve(place.cwd, value))
  const named = SETTINGS_VARIABLES.map((variable) => namedPath(place, variable)).filter((path) => path !== undefined)
  const found = [...given, ...named].map(async (path) => ((await mayHold(path, 'mcpServers')) ? [path] : []))
  return (await Promise.all(found)).flat()
}
