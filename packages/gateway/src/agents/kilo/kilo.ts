import { homePath, joinPath, pathFromVariable, projectFile, userFile, xdgConfig } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { args, disabled, env, ignored } from '../entry-keys.ts'
import { OPENCODE_ENTRIES } from '../opencode-entries.ts'

/** A file in the format of older versions, with another key. */
const OLD_FILE = 'mcp.json'
const HOME_FOLDERS = ['.kilocode', '.kilo']
const HOME_FILES = ['opencode.json', 'opencode.jsonc', 'kilo.json', 'kilo.jsonc']

export const kilo = createAdapter({
  id: 'kilo',
  title: 'Kilo',
  aliases: ['kilocode', 'kilo-code'],
  program: 'kilo',
  syntax: 'json',
  files: (host) => [
    userFile(joinPath(host, xdgConfig(host), 'kilo', 'kilo.json')),
    userFile(joinPath(host, xdgConfig(host), 'kilo', 'kilo.jsonc')),
    ...[pathFromVariable(host, 'KILO_CONFIG')].flatMap((path) => (path === undefined ? [] : [userFile(path)])),
    projectFile(host, 'kilo.json'),
    projectFile(host, 'kilo.jsonc'),
    // Read regardless of the variables.
    ...HOME_FOLDERS.map((folder) => projectFile(host, folder, OLD_FILE)),
    // Read last, and regardless of the variables.
    ...HOME_FOLDERS.flatMap((folder) => HOME_FILES.map((name) => userFile(homePath(host, folder, name)))),
  ],
  serversPath: ({ path }) => (path.endsWith(OLD_FILE) ? ['mcpServers'] : ['mcp']),
  entries: { ...OPENCODE_ENTRIES, keys: { ...OPENCODE_ENTRIES.keys, args, env, disabled, alwaysAllow: ignored } },
  results: { maxCharacters: 45_000, maxLines: 1_900, clientNames: ['kilo'] },
  enforcement: {
    level: 'partial',
    text: 'Our server instead of its own: KILO_CONFIG names it; an XDG_CONFIG_HOME of the run, without the user’s servers, and KILO_DISABLE_PROJECT_CONFIG hide the others, KILO_CONFIG_CONTENT those of ~/.kilo and .kilocode/mcp.json. What the service of its account provides for an organization stays.',
  },
})
