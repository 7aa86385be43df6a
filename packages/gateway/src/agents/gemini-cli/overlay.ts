import { join } from 'node:path'
import { namedFolder } from '../agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S, type OverlayRequest } from '../agent-overlay.ts'
import { allowedNames, byName, createOverlay, folderFrom, namesOf, objectIn, settingsWith } from '../overlay-parts.ts'
import { drivenBy, textsOf } from '../server-sources.ts'

const FILE = 'settings.json'
const SHARED = '.gemini'
const ONLY_OUR_NAME = '`--allowed-mcp-server-names`, and a name for ours that stands in none of them'
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
  otherTexts: async ({ place, folders, native }) => {
    const homes = [...new Set([namedFolder(place, 'GEMINI_CLI_HOME'), place.home, ...folders])]
    const files = { files: /\.(md|json)$/, depth: 4 }
    const texts = homes.flatMap((home) => [
      textsOf(join(home, SHARED, 'agents'), files),
      textsOf(join(home, SHARED, 'extensions'), files),
    ])
    const system = textsOf('/etc/gemini-cli', files)
    const settings = native.map(({ config }) => JSON.stringify(config.document))
    return [...settings, ...(await Promise.all([...texts, system])).flat()]
  },
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
