import { homePath, joinPath, pathFromVariable, projectFile, userFile, xdgConfig } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { OPENCODE_ENTRIES } from '../opencode-entries.ts'

export const opencode = createAdapter({
  id: 'opencode',
  title: 'OpenCode',
  program: 'opencode',
  syntax: 'json',
  files: (host) => [
    userFile(joinPath(host, xdgConfig(host), 'opencode', 'opencode.json')),
    userFile(joinPath(host, xdgConfig(host), 'opencode', 'opencode.jsonc')),
    ...[pathFromVariable(host, 'OPENCODE_CONFIG')].flatMap((path) => (path === undefined ? [] : [userFile(path)])),
    projectFile(host, 'opencode.json'),
    projectFile(host, 'opencode.jsonc'),
    // Read last, and whatever the variables say.
    userFile(homePath(host, '.opencode', 'opencode.json')),
    userFile(homePath(host, '.opencode', 'opencode.jsonc')),
  ],
  serversPath: () => ['mcp'],
  entries: OPENCODE_ENTRIES,
  results: { maxCharacters: 45_000, maxLines: 1_900, clientNames: ['opencode'] },
  enforcement: {
    level: 'partial',
    text: 'Our server instead of its own: OPENCODE_CONFIG names it; an XDG_CONFIG_HOME of the run, without the user’s servers, and OPENCODE_DISABLE_PROJECT_CONFIG hide the others, OPENCODE_CONFIG_CONTENT those of ~/.opencode. What the service of its account provides for an organization stays.',
  },
})
