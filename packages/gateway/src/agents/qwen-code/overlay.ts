import { join } from 'node:path'
import { type AgentOverlay, CALL_TIMEOUT_S, STARTUP_TIMEOUT_S } from '../agent-overlay.ts'
import { folderFromVariable, systemFolders } from '../agent-paths.ts'
import { allowedNameFlags, createOverlay, entriesByName } from '../create-overlay.ts'
import { drivingProgramSource, findFilesWithKey, findLinkedExtensions, type SourceSearch } from '../server-sources.ts'

const FILE = 'mcp.json'
/** A file in the folder of a linked extension. */
const LINK = '.qwen-extension-install.json'
/** Commands that start no servers and do not have our flags. */
const HARMLESS = new Set(['auth', 'extensions', 'hooks', 'mcp', 'sessions', 'update'])
const SYSTEM = {
  name: 'qwen-code',
  title: 'QwenCode',
  variables: ['QWEN_CODE_SYSTEM_SETTINGS_PATH', 'QWEN_CODE_SYSTEM_DEFAULTS_PATH'],
}
const ONLY_OUR_NAME = '`--allowed-mcp-server-names`'

/** `--mcp-config` adds our servers to the user's, and the allowed names exclude the user's again. */
export const qwenCodeOverlay: AgentOverlay = {
  reservedFlags: ['--mcp-config', '--allowed-mcp-server-names'],
  remainingScopes: ['user', 'project', 'local'],
  reservedCommands: ['board', 'channel', 'review', 'sandbox', 'serve'],
  sources: [
    { name: 'settings of the user, of the project and of the system', state: 'closed', mechanism: ONLY_OUR_NAME },
    { name: '`.mcp.json` of the project', state: 'closed', mechanism: ONLY_OUR_NAME },
    { name: 'extensions', state: 'closed', mechanism: ONLY_OUR_NAME },
    {
      name: 'sub-agents',
      state: 'refused',
      mechanism: '`mcpServers` in `.qwen/agents`, `~/.qwen/agents` or `agents` of an extension, also of a linked one',
      find: findAgentsWithServers,
    },
    {
      name: 'a command in its settings',
      state: 'refused',
      mechanism: '`mcp.serverCommand` of the user, of the project or of the system',
      find: findSettingsWithCommand,
    },
    { name: 'variables', state: 'closed', mechanism: '`QWEN_CODE_IDE_SERVER_STDIO_COMMAND` is removed' },
    { name: 'flags', state: 'refused', mechanism: '`--mcp-config`, `--allowed-mcp-server-names`' },
    drivingProgramSource('--acp', '--experimental-acp', '--input-format'),
  ],
  createEntry: (window) => ({
    ...window,
    trust: true,
    timeout: CALL_TIMEOUT_S * 1_000,
    discoveryTimeoutMs: STARTUP_TIMEOUT_S * 1_000,
  }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const [command = ''] = args
    if (HARMLESS.has(command)) return createOverlay({ args })
    return createOverlay({
      environment: { QWEN_CODE_IDE_SERVER_STDIO_COMMAND: undefined, QWEN_CODE_IDE_SERVER_STDIO_ARGS: undefined },
      args: [`--mcp-config=${join(folder, FILE)}`, ...allowedNameFlags(request, HARMLESS), ...args],
      files: { [FILE]: { mcpServers: entriesByName(servers) } },
    })
  },
}

/** Servers of sub-agents are started in addition to the allowed ones, and one with the name of ours replaces it. */
async function findAgentsWithServers({ host, folders }: SourceSearch): Promise<readonly string[]> {
  const homes = [folderFromVariable(host, 'QWEN_HOME', '.qwen'), ...folders.map((folder) => join(folder, '.qwen'))]
  const extensions = homes.map((home) => join(home, 'extensions'))
  const linked = await Promise.all(extensions.map((folder) => findLinkedExtensions(folder, LINK)))
  const query = { key: 'mcpServers', files: /\.md$/ }
  const found = await Promise.all([
    ...[...homes, ...linked.flat()].map((folder) => findFilesWithKey(join(folder, 'agents'), query)),
    ...extensions.map((folder) => findFilesWithKey(folder, { ...query, depth: 4 })),
  ])
  return found.flat()
}

/** The server of this command has no name that could be excluded. Older files have the key at the top level. */
async function findSettingsWithCommand({ host, native }: SourceSearch): Promise<readonly string[]> {
  const named = native.filter(({ config }) => /"(mcpS|s)erverCommand"/.test(JSON.stringify(config.document)))
  const query = { key: 'erverCommand', files: /\.json$/ }
  const found = await Promise.all(systemFolders(host, SYSTEM).map((folder) => findFilesWithKey(folder, query)))
  return [...named.map(({ file }) => file.path), ...found.flat()]
}
