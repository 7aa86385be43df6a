import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject } from '@sallyport/core'
import { namedFolder } from '../agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S, type OwnFile } from '../agent-overlay.ts'
import { enabledPluginsWithServers } from '../enabled-plugins.ts'
import { hasFlag } from '../flag-values.ts'
import { byName, createOverlay, unwantedNames } from '../overlay-parts.ts'
import { drivenBy, filesWithServers, otherFolders, type SourceSearch } from '../server-sources.ts'

const FILE = 'mcp-config.json'

/** What is added is merged with the user's file, whose other servers are switched off by name. */
export const copilotOverlay: AgentOverlay = {
  reserved: [
    ...['--additional-mcp-config', '--disable-mcp-server', '--enable-mcp-server', '--plugin-dir'],
    // Sessions that run elsewhere, with servers of their own.
    ...['--connect', '--environment-host'],
  ],
  stays: ['user', 'project', 'local'],
  sources: [
    { name: 'files of the user and of the project', state: 'closed', means: '`--disable-mcp-server` for each name' },
    {
      name: 'files of the project without `mcpServers`',
      state: 'refused',
      means: 'a `.mcp.json` whose servers stand at its top',
      find: ({ native }) => native.filter(isUnwrapped).map(({ file }) => file.path),
    },
    {
      name: 'custom agents',
      state: 'refused',
      means: '`mcp-servers` in `.github/agents`, `.claude/agents`, `~/.copilot/agents`',
      find: agentsWithServers,
    },
    {
      name: 'plugins',
      state: 'refused',
      means: 'an installed plugin with servers, or one that settings switch on; `--plugin-dir`',
      find: pluginsWithServers,
    },
    otherFolders('--resume', '-r', '--continue', '--session-id', '--worktree'),
    { name: 'its own', state: 'closed', means: '`--disable-builtin-mcps`' },
    { name: 'flags', state: 'refused', means: '`--additional-mcp-config`, `--enable-mcp-server`, `--connect`' },
    drivenBy('--acp', '--server', '--headless', '--ahp-host'),
    {
      name: 'agents of an organization',
      state: 'open',
      means: 'those that GitHub hands out are not seen before the run',
    },
  ],
  isAttended: (args) => !hasFlag(args, '-p') && !hasFlag(args, '--prompt'),
  entry: (window) => ({ type: 'local', ...window, tools: ['*'], timeout: CALL_PATIENCE_S * 1_000 }),
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
      files: { [FILE]: { mcpServers: byName(servers) } },
    })
  },
}

/** Copilot takes a file whose servers stand at its top for one too. */
function isUnwrapped({ file, config }: OwnFile): boolean {
  if (file.scope !== 'project' || Object.hasOwn(config.document, 'mcpServers')) return false
  return Object.values(config.document).some(isJsonObject)
}

async function agentsWithServers({ place, folders }: SourceSearch): Promise<readonly string[]> {
  const projects = folders.flatMap((folder) => [join(folder, '.github/agents'), join(folder, '.claude/agents')])
  const users = [join(homeOf(place), 'agents'), join(place.home, '.claude/agents')]
  const wish = { key: 'mcp-servers', files: /\.md$/, depth: 2 }
  return (await Promise.all([...users, ...projects].map((folder) => filesWithServers(folder, wish)))).flat()
}

/** Servers stand in files of their own or in the head of a plugin's agents. */
const PLUGIN_FILES = [
  { key: 'mcpServers', files: /\.json$/, depth: 6 },
  { key: '"command"', files: /[/\\]\.?mcp\.json$/, depth: 6 },
  { key: 'mcp-servers', files: /\.md$/, depth: 6 },
]

async function pluginsWithServers({ place, folders }: SourceSearch): Promise<readonly string[]> {
  const home = homeOf(place)
  const kept = ['installed-plugins', 'plugins', 'plugin-cache'].map((name) => join(home, name))
  const projects = folders.flatMap((folder) => [join(folder, '.github/copilot'), join(folder, '.claude')])
  const found = await Promise.all([
    ...kept.map(serversIn),
    enabledPluginsWithServers({
      files: [
        ...['settings.json', 'config.json'].map((name) => join(home, name)),
        ...projects.flatMap((folder) => [join(folder, 'settings.json'), join(folder, 'settings.local.json')]),
      ],
      cwd: place.cwd,
      isInstalled: (id) => existsSync(join(home, 'installed-plugins', ...id.split('@').reverse())),
      serversIn,
    }),
  ])
  return found.flat()
}

async function serversIn(folder: string): Promise<readonly string[]> {
  return (await Promise.all(PLUGIN_FILES.map((wish) => filesWithServers(folder, wish)))).flat()
}

const homeOf = (place: SourceSearch['place']): string => namedFolder(place, 'COPILOT_HOME', '.copilot')
