import { join } from 'node:path'
import { namedFolder } from '../agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S, START_PATIENCE_S } from '../agent-overlay.ts'
import { allowedNames, byName, createOverlay } from '../overlay-parts.ts'
import { drivenBy, filesWithServers, type SourceSearch } from '../server-sources.ts'

const FILE = 'mcp.json'
/** They start no servers, and do not know our flags. */
const HARMLESS = new Set(['auth', 'extensions', 'hooks', 'mcp', 'sessions', 'update'])
const ONLY_OUR_NAME = '`--allowed-mcp-server-names`'

/** `--mcp-config` adds to the user's servers, and the names that are allowed take them away again. */
export const qwenCodeOverlay: AgentOverlay = {
  reserved: ['--mcp-config', '--allowed-mcp-server-names'],
  stays: ['user', 'project', 'local'],
  reservedCommands: ['board', 'channel', 'review', 'sandbox', 'serve'],
  sources: [
    { name: 'settings of the user, of the project and of the system', state: 'closed', means: ONLY_OUR_NAME },
    { name: '`.mcp.json` of the project', state: 'closed', means: ONLY_OUR_NAME },
    { name: 'extensions', state: 'closed', means: ONLY_OUR_NAME },
    {
      name: 'sub-agents',
      state: 'refused',
      means: '`mcpServers` in `.qwen/agents`, `~/.qwen/agents` or `agents` of an extension',
      find: agentsWithServers,
    },
    { name: 'variables', state: 'closed', means: '`QWEN_CODE_IDE_SERVER_STDIO_COMMAND` is taken away' },
    { name: 'flags', state: 'refused', means: '`--mcp-config`, `--allowed-mcp-server-names`' },
    drivenBy('--acp', '--experimental-acp', '--input-format'),
  ],
  entry: (window) => ({
    ...window,
    trust: true,
    timeout: CALL_PATIENCE_S * 1_000,
    discoveryTimeoutMs: START_PATIENCE_S * 1_000,
  }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const [command = ''] = args
    if (HARMLESS.has(command)) return createOverlay({ args })
    return createOverlay({
      environment: { QWEN_CODE_IDE_SERVER_STDIO_COMMAND: undefined, QWEN_CODE_IDE_SERVER_STDIO_ARGS: undefined },
      args: [`--mcp-config=${join(folder, FILE)}`, ...allowedNames(request, HARMLESS), ...args],
      files: { [FILE]: { mcpServers: byName(servers) } },
    })
  },
}

/** They are started besides those that are allowed, and one that is called like ours takes its place. */
async function agentsWithServers({ place, folders }: SourceSearch): Promise<readonly string[]> {
  const homes = [namedFolder(place, 'QWEN_HOME', '.qwen'), ...folders.map((folder) => join(folder, '.qwen'))]
  const wish = { key: 'mcpServers', files: /\.md$/ }
  const found = [...new Set(homes)].flatMap((home) => [
    filesWithServers(join(home, 'agents'), wish),
    filesWithServers(join(home, 'extensions'), { ...wish, depth: 4 }),
  ])
  return (await Promise.all(found)).flat()
}
