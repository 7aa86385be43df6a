import { join } from 'node:path'
import { readRegularFile } from '../../disk/disk.ts'
import type { AgentPlace } from '../agent-adapter.ts'
import { inHome, joinPath, namedFolder } from '../agent-folders.ts'
import { hasFlag } from '../flag-values.ts'
import { drivenBy, filesWithServers, mayHold, type ServerSource, type SourceSearch } from '../server-sources.ts'
import { loginsOfOrganizations } from './organization.ts'

export const CODEX_SOURCES: readonly ServerSource[] = [
  {
    name: 'files of the user and of the project',
    state: 'closed',
    means: '`-c mcp_servers.<name>.enabled=false` for each',
  },
  { name: 'plugins, apps and skills', state: 'closed', means: '`-c features.<name>=false`' },
  {
    name: 'roles of sub-agents',
    state: 'refused',
    means: '`mcp_servers` in `agents/*.toml` of the user or the project, or in a file that `config_file` names',
    find: rolesWithServers,
  },
  {
    name: 'files of the system',
    state: 'refused',
    means: '`mcp_servers` in `/etc/codex`; plugins or apps that stand there as required; managed preferences on macOS',
    find: systemFiles,
  },
  {
    name: 'where its commands run',
    state: 'refused',
    means: '`environments.toml`, `CODEX_EXEC_SERVER_URL` and the like: what runs there may bring servers',
    find: executors,
  },
  { name: 'flags', state: 'refused', means: '`-c mcp_servers…`, `--profile`, `--enable plugins`, `--remote`' },
  {
    name: 'a process of its own that runs already',
    state: 'closed',
    means: '`-c` makes Codex start one for this run alone',
  },
  {
    name: 'sessions that are resumed',
    state: 'closed',
    means:
      '`-C` and `-c tui.resume_cwd="current"` keep the folder of the run; `-c features.plugins=false` what was chosen in it',
  },
  {
    name: 'worktrees',
    state: 'refused',
    means: '`--worktree`: it works in another folder, which is not searched',
    find: ({ args }) => ['--worktree'].filter((flag) => hasFlag(args, flag)),
  },
  {
    name: 'its organization',
    state: 'refused',
    means: 'a login of a workspace, or one that cannot be seen: its service hands out configuration',
    find: loginsOfOrganizations,
  },
  drivenBy('app-server', 'mcp-server', 'exec-server'),
]

const TOML = { key: 'mcp_servers', files: /\.toml$/, depth: 1 }

const codexHome = (place: AgentPlace): string => namedFolder(place, 'CODEX_HOME', '.codex')

/** A role is a file of settings, which counted above those of the run in earlier versions. */
async function rolesWithServers({ place, folders, native }: SourceSearch): Promise<readonly string[]> {
  const homes = [codexHome(place), ...folders.map((folder) => join(folder, '.codex'))]
  const named = native.filter(({ config }) => JSON.stringify(config.document.agents ?? {}).includes('"config_file"'))
  const found = await Promise.all(homes.map((home) => filesWithServers(join(home, 'agents'), TOML)))
  return [...found.flat(), ...named.map(({ file }) => `config_file in ${file.path}`)]
}

/** These count above `-c`, and so does a feature that they require. */
const ABOVE = /(managed_config|requirements)\.toml$/

async function systemFiles({ place }: SourceSearch): Promise<readonly string[]> {
  const folder = place.platform === 'win32' ? 'C:\\ProgramData\\OpenAI\\Codex' : '/etc/codex'
  const required = ['plugins', 'apps', 'connectors'].map((key) => filesWithServers(folder, { key, files: ABOVE }))
  const found = await Promise.all([filesWithServers(folder, TOML), ...required])
  return [...found.flat(), ...(place.platform === 'darwin' ? await managedPreferences(place) : [])]
}

/** Programs keep other things there too, in a binary form in which the names of keys can be read. */
async function managedPreferences(place: AgentPlace): Promise<readonly string[]> {
  const folders = ['/Library/Managed Preferences', '/Library/Preferences', inHome(place, 'Library', 'Preferences')]
  const paths = [...folders, `/Library/Managed Preferences/${place.environment.USER ?? ''}`].map((folder) =>
    joinPath(place, folder, 'com.openai.codex.plist'),
  )
  const found = await Promise.all(paths.map((path) => readRegularFile(path, MAX_PREFERENCES)))
  return paths.filter((_, at) => {
    const file = found[at]
    return file?.kind === 'read' && file.bytes.includes('_toml_base64')
  })
}

const MAX_PREFERENCES = 32 * 1024 ** 2

const EXECUTORS = ['CODEX_EXEC_SERVER_URL', 'CODEX_EXEC_SERVER_NOISE_REGISTRY_URL']

async function executors({ place }: SourceSearch): Promise<readonly string[]> {
  const path = joinPath(place, codexHome(place), 'environments.toml')
  const isNamed = await mayHold(path, 'environments')
  return [...EXECUTORS.filter((name) => place.environment[name]), ...(isNamed ? [path] : [])]
}
