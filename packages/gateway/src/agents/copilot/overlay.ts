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

/** What is added is merged with the user's file, whose other servers are switched off by name. */
export const copilotOverlay: AgentOverlay = {
  reservedFlags: [
    ...['--additional-mcp-config', '--disable-mcp-server', '--enable-mcp-server', '--plugin-dir'],
    // Sessions that run elsewhere, with servers of their own.
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
      mechanism: 'a `.mcp.json` whose servers stand at its top',
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
      mechanism: 'those that GitHub hands out are not seen before the run',
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

/** Copilot takes a file whose servers stand at its top for one too. */
function hasTopLevelServers({ file, config }: ParsedNativeFile): boolean {
  if (file.scope !== 'project' || Object.hasOwn(config.document, 'mcpServers')) return false
  return Object.values(config.document).some(isJsonObject)
}

async function findAgentsWithServers({ host, folders }: SourceSearch): Promise<readonly string[]> {
  const projects = folders.flatMap((folder) => [join(folder, '.github/agents'), join(folder, '.claude/agents')])
  const users = [join(copilotHome(host), 'agents'), join(host.home, '.claude/agents')]
  const wish = { key: 'mcp-servers', files: /\.md$/, depth: 2 }
  return (await Promise.all([...users, ...projects].map((folder) => findFilesWithKey(folder, wish)))).flat()
}

/** Servers stand in files of their own or in the head of a plugin's agents. */
const PLUGIN_FILES = [
  { key: 'mcpServers', files: /\.json$/, depth: 6 },
  { key: '"command"', files: /[/\\]\.?mcp\.json$/, depth: 6 },
  { key: 'mcp-servers', files: /\.md$/, depth: 6 },
]

async function findPluginsWithServers({ host, folders }: SourceSearch): Promise<readonly string[]> {
  const home = copilotHome(host)
  const kept = ['installed-plugins', 'plugins', 'plugin-cache'].map((name) => join(home, name))
  const projects = folders.flatMap((folder) => [join(folder, '.github/copilot'), join(folder, '.claude')])
  const found = await Promise.all([
    ...kept.map(findPluginServers),
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
  return (await Promise.all(PLUGIN_FILES.map((wish) => findFilesWithKey(folder, wish)))).flat()
}

const copilotHome = (place: SourceSearch['host']): string => folderFromVariable(place, 'COPILOT_HOME', '.copilot')
