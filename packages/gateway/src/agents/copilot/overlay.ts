import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import { type AgentOverlay, CALL_TIMEOUT_S, type ParsedNativeFile } from '../agent-overlay.ts'
import { folderFromVariable } from '../agent-paths.ts'
import { createOverlay, entriesByName, unwantedNames } from '../create-overlay.ts'
import { findEnabledPluginServers } from '../enabled-plugins.ts'
import { hasFlag } from '../flag-values.ts'
import { drivingProgramSource, findFilesWithKey, resumedSessionSource, type SourceSearch } from '../server-sources.ts'

const FILE = 'mcp-config.json'

/** Our servers are merged with the user's file, whose other servers are disabled by name. */
export const copilotOverlay: AgentOverlay = {
  reservedFlags: [
    ...['--additional-mcp-config', '--disable-mcp-server', '--enable-mcp-server', '--plugin-dir'],
    // Sessions on other machines, with their own servers.
    ...['--connect', '--environment-host'],
  ],
  remainingScopes: ['user', 'project', 'local'],
  sources: [
    {
      name: 'files of the user and of the project',
      state: 'closed',
      mechanism: '`--disable-mcp-server` for each name',
    },
    {
      name: 'files of the project without `mcpServers`',
      state: 'refused',
      mechanism: 'a `.mcp.json` whose servers are at its top level',
      find: ({ native }) => native.filter(hasTopLevelServers).map(({ file }) => file.path),
    },
    {
      name: 'custom agents',
      state: 'refused',
      mechanism: '`mcp-servers` in `.github/agents`, `.claude/agents`, `~/.copilot/agents`',
      find: findAgentsWithServers,
    },
    {
      name: 'plugins',
      state: 'refused',
      mechanism: 'an installed plugin with servers, or one that settings switch on; `--plugin-dir`',
      find: findPluginsWithServers,
    },
    resumedSessionSource('--resume', '-r', '--continue', '--session-id', '--worktree'),
    { name: 'its own', state: 'closed', mechanism: '`--disable-builtin-mcps`' },
    { name: 'flags', state: 'refused', mechanism: '`--additional-mcp-config`, `--enable-mcp-server`, `--connect`' },
    drivingProgramSource('--acp', '--server', '--headless', '--ahp-host'),
    {
      name: 'agents of an organization',
      state: 'open',
      mechanism: 'those that GitHub provides are not visible before the run',
    },
  ],
  isAttended: (args) => !hasFlag(args, '-p') && !hasFlag(args, '--prompt'),
  createEntry: (window) => ({ type: 'local', ...window, tools: ['*'], timeout: CALL_TIMEOUT_S * 1_000 }),
  overlay: (request) => {
    const { folder, servers, ours, args } = request
    return createOverlay({
      args: [
        `--additional-mcp-config=@${join(folder, FILE)}`,
        '--disable-builtin-mcps',
        ...unwantedNames(request).map((name) => `--disable-mcp-server=${name}`),
        ...ours.map((name) => `--allow-tool=${name}`),
        ...args,
      ],
      files: { [FILE]: { mcpServers: entriesByName(servers) } },
    })
  },
}

/** Copilot also accepts a file with the servers at its top level. */
function hasTopLevelServers({ file, config }: ParsedNativeFile): boolean {
  if (file.scope !== 'project' || Object.hasOwn(config.document, 'mcpServers')) return false
  return Object.values(config.document).some(isJsonObject)
}

async function findAgentsWithServers({ host, folders }: SourceSearch): Promise<readonly string[]> {
  const projects = folders.flatMap((folder) => [join(folder, '.github/agents'), join(folder, '.claude/agents')])
  const users = [join(copilotHome(host), 'agents'), join(host.home, '.claude/agents')]
  const query = { key: 'mcp-servers', files: /\.md$/, depth: 2 }
  return (await Promise.all([...users, ...projects].map((folder) => findFilesWithKey(folder, query)))).flat()
}

/** Plugins define servers in separate files, or in the front matter of their agents. */
const PLUGIN_FILES = [
  { key: 'mcpServers', files: /\.json$/, depth: 6 },
  { key: '"command"', files: /[/\\]\.?mcp\.json$/, depth: 6 },
  { key: 'mcp-servers', files: /\.md$/, depth: 6 },
]

async function findPluginsWithServers({ host, folders }: SourceSearch): Promise<readonly string[]> {
  const home = copilotHome(host)
  const pluginFolders = ['installed-plugins', 'plugins', 'plugin-cache'].map((name) => join(home, name))
  const projects = folders.flatMap((folder) => [join(folder, '.github/copilot'), join(folder, '.claude')])
  const found = await Promise.all([
    ...pluginFolders.map(findPluginServers),
    findEnabledPluginServers({
      files: [
        ...['settings.json', 'config.json'].map((name) => join(home, name)),
        ...projects.flatMap((folder) => [join(folder, 'settings.json'), join(folder, 'settings.local.json')]),
      ],
      cwd: host.cwd,
      isInstalled: (id) => existsSync(join(home, 'installed-plugins', ...id.split('@').reverse())),
      findPluginServers,
    }),
  ])
  return found.flat()
}

async function findPluginServers(folder: string): Promise<readonly string[]> {
  return (await Promise.all(PLUGIN_FILES.map((query) => findFilesWithKey(folder, query)))).flat()
}

const copilotHome = (host: SourceSearch['host']): string => folderFromVariable(host, 'COPILOT_HOME', '.copilot')
