import { join } from 'node:path'
import { namedFolder, systemFolders } from '../agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S, type OverlayRequest } from '../agent-overlay.ts'
import { allowedNames, byName, createOverlay, folderFrom, namesOf, objectIn, settingsWith } from '../overlay-parts.ts'
import { drivenBy, linkedExtensions, mayStandIn, type SourceSearch } from '../server-sources.ts'

const FILE = 'settings.json'
const SHARED = '.gemini'
/** In the folder of an extension that is only linked. */
const LINK = '.gemini-extension-install.json'
const SYSTEM = {
  name: 'gemini-cli',
  title: 'GeminiCli',
  variables: ['GEMINI_CLI_SYSTEM_SETTINGS_PATH', 'GEMINI_CLI_SYSTEM_DEFAULTS_PATH'],
}
const ONLY_OUR_NAME = '`--allowed-mcp-server-names`, and a name for ours that none of them has'
const COMMANDS = new Set(['mcp', 'extensions', 'extension', 'skills', 'skill', 'hooks', 'hook', 'gemma'])

/** A home of its own with everything of the user's linked but the settings, which it rewrites at start. */
export const geminiCliOverlay: AgentOverlay = {
  reserved: ['--allowed-mcp-server-names'],
  stays: ['project'],
  sources: [
    { name: 'settings of the user', state: 'closed', means: '`GEMINI_CLI_HOME`' },
    { name: 'settings of the project and of the system', state: 'closed', means: ONLY_OUR_NAME },
    { name: 'extensions', state: 'closed', means: ONLY_OUR_NAME },
    { name: 'sub-agents', state: 'closed', means: ONLY_OUR_NAME },
    { name: 'variables', state: 'closed', means: '`GEMINI_CLI_IDE_SERVER_STDIO_COMMAND` is taken away' },
    { name: 'flags', state: 'refused', means: '`--allowed-mcp-server-names`' },
    drivenBy('--acp', '--experimental-acp'),
  ],
  mayNameServer,
  entry: (window) => ({ ...window, trust: true, timeout: CALL_PATIENCE_S * 1_000 }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const names = namesOf(servers)
    const settings = settingsWith(request, 'mcpServers', byName(servers))
    const mcp = { ...objectIn(settings, 'mcp'), allowed: names, excluded: [] }
    return createOverlay({
      args: [...allowedNames(request, COMMANDS), ...args],
      environment: {
        GEMINI_CLI_HOME: join(folder, 'home'),
        GEMINI_CLI_IDE_SERVER_STDIO_COMMAND: undefined,
        GEMINI_CLI_IDE_SERVER_STDIO_ARGS: undefined,
      },
      files: { [`home/${SHARED}/${FILE}`]: { ...settings, mcp } },
      mirrors: [{ source: join(userHome(request), SHARED), path: `home/${SHARED}`, except: [FILE] }],
    })
  },
}

const userHome = (request: OverlayRequest): string => folderFrom(request, 'GEMINI_CLI_HOME', '.')

/** A sub-agent's server of the name of ours would take its place, wherever the sub-agent comes from. */
async function mayNameServer(name: string, { place, folders, native }: SourceSearch): Promise<boolean> {
  if (native.some(({ config }) => JSON.stringify(config.document).includes(name))) return true
  const homes = [...new Set([namedFolder(place, 'GEMINI_CLI_HOME'), place.home, ...folders])]
  const extensions = homes.map((home) => join(home, SHARED, 'extensions'))
  const linked = await Promise.all(extensions.map((folder) => linkedExtensions(folder, LINK)))
  // The file about a link holds a path, which may contain the name by chance.
  const wish = { key: name, files: /(?<!\.gemini-extension-install)\.(md|json)$/, depth: 4 }
  const searched = await Promise.all([
    ...[...homes.map((home) => join(home, SHARED, 'agents')), ...extensions].map((folder) => mayStandIn(folder, wish)),
    ...linked.flat().map((folder) => mayStandIn(folder, { ...wish, depth: 1 })),
    ...systemFolders(place, SYSTEM).map((folder) => mayStandIn(folder, { ...wish, depth: 0 })),
  ])
  return searched.includes(true)
}
