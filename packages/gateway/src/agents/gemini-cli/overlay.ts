import { join } from 'node:path'
import { type AgentOverlay, CALL_TIMEOUT_S, type OverlayRequest } from '../agent-overlay.ts'
import { folderFromVariable, systemFolders } from '../agent-paths.ts'
import {
  allowedNameFlags,
  createOverlay,
  entriesByName,
  getObject,
  resolveFolder,
  serverNames,
  settingsWithServers,
} from '../create-overlay.ts'
import { drivingProgramSource, findLinkedExtensions, folderMayContain, type SourceSearch } from '../server-sources.ts'

const FILE = 'settings.json'
const CONFIG_FOLDER = '.gemini'
/** A file in the folder of a linked extension. */
const LINK = '.gemini-extension-install.json'
const SYSTEM = {
  name: 'gemini-cli',
  title: 'GeminiCli',
  variables: ['GEMINI_CLI_SYSTEM_SETTINGS_PATH', 'GEMINI_CLI_SYSTEM_DEFAULTS_PATH'],
}
const ONLY_OUR_NAME = '`--allowed-mcp-server-names`, and a name for ours that none of them has'
const COMMANDS = new Set(['mcp', 'extensions', 'extension', 'skills', 'skill', 'hooks', 'hook', 'gemma'])

/** A separate home with links to all of the user's files except the settings, which Gemini CLI rewrites at start. */
export const geminiCliOverlay: AgentOverlay = {
  reservedFlags: ['--allowed-mcp-server-names'],
  remainingScopes: ['project'],
  sources: [
    { name: 'settings of the user', state: 'closed', mechanism: '`GEMINI_CLI_HOME`' },
    { name: 'settings of the project and of the system', state: 'closed', mechanism: ONLY_OUR_NAME },
    { name: 'extensions', state: 'closed', mechanism: ONLY_OUR_NAME },
    { name: 'sub-agents', state: 'closed', mechanism: ONLY_OUR_NAME },
    { name: 'variables', state: 'closed', mechanism: '`GEMINI_CLI_IDE_SERVER_STDIO_COMMAND` is removed' },
    { name: 'flags', state: 'refused', mechanism: '`--allowed-mcp-server-names`' },
    drivingProgramSource('--acp', '--experimental-acp'),
  ],
  mayNameServer,
  createEntry: (window) => ({ ...window, trust: true, timeout: CALL_TIMEOUT_S * 1_000 }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const names = serverNames(servers)
    const settings = settingsWithServers(request, 'mcpServers', entriesByName(servers))
    const mcp = { ...getObject(settings, 'mcp'), allowed: names, excluded: [] }
    return createOverlay({
      args: [...allowedNameFlags(request, COMMANDS), ...args],
      environment: {
        GEMINI_CLI_HOME: join(folder, 'home'),
        GEMINI_CLI_IDE_SERVER_STDIO_COMMAND: undefined,
        GEMINI_CLI_IDE_SERVER_STDIO_ARGS: undefined,
      },
      files: { [`home/${CONFIG_FOLDER}/${FILE}`]: { ...settings, mcp } },
      mirrors: [{ source: join(geminiHome(request), CONFIG_FOLDER), path: `home/${CONFIG_FOLDER}`, except: [FILE] }],
    })
  },
}

const geminiHome = (request: OverlayRequest): string => resolveFolder(request, 'GEMINI_CLI_HOME', '.')

/** A sub-agent's server with the same name would replace ours, wherever the sub-agent is defined. */
async function mayNameServer(name: string, { host, folders, native }: SourceSearch): Promise<boolean> {
  if (native.some(({ config }) => JSON.stringify(config.document).includes(name))) return true
  const homes = [...new Set([folderFromVariable(host, 'GEMINI_CLI_HOME'), host.home, ...folders])]
  const extensions = homes.map((home) => join(home, CONFIG_FOLDER, 'extensions'))
  const linked = await Promise.all(extensions.map((folder) => findLinkedExtensions(folder, LINK)))
  // The file that describes a link contains a path, which may contain the name by chance.
  const query = { key: name, files: /(?<!\.gemini-extension-install)\.(md|json)$/, depth: 4 }
  const searched = await Promise.all([
    ...[...homes.map((home) => join(home, CONFIG_FOLDER, 'agents')), ...extensions].map((folder) =>
      folderMayContain(folder, query),
    ),
    ...linked.flat().map((folder) => folderMayContain(folder, { ...query, depth: 1 })),
    ...systemFolders(host, SYSTEM).map((folder) => folderMayContain(folder, { ...query, depth: 0 })),
  ])
  return searched.includes(true)
}
