import { join } from 'node:path'
import { isJsonObject, type Json } from '@sallyport/core'
import { readRegularFile } from '../../disk/disk.ts'
import type { HostContext } from '../agent-adapter.ts'
import { folderFromVariable, homePath, joinPath } from '../agent-paths.ts'
import { readNativeFile } from '../files/read-native-file.ts'
import { hasFlag } from '../flag-values.ts'
import {
  drivingProgramSource,
  fileMayContain,
  findFilesWithKey,
  type ServerSource,
  type SourceSearch,
} from '../server-sources.ts'

/** Personal plans. With other plans Codex gets workspace settings from its service, and starts the servers in them. */
const PERSONAL: ReadonlySet<string> = new Set(['free', 'go', 'plus', 'pro', 'prolite'])

/** Logins whose plan is not known before they are used. */
const TOKENS = ['CODEX_ACCESS_TOKEN', 'OPENAI_IDENTITY_TOKEN_FILE']

/** Logins with which the service may add servers that are not in any file. */
async function findOrganizationLogins({ host, native }: SourceSearch): Promise<readonly string[]> {
  const stored = native.filter(({ config }) => /keyring|auto/.test(String(config.document[CREDENTIAL_STORE_KEY] ?? '')))
  return [
    ...TOKENS.filter((name) => host.environment[name]),
    ...stored.map(({ file }) => `${CREDENTIAL_STORE_KEY} in ${file.path}, which hides the login`),
    ...(await checkLoginFile(joinPath(host, folderFromVariable(host, 'CODEX_HOME', '.codex'), 'auth.json'))),
  ]
}

const CREDENTIAL_STORE_KEY = 'cli_auth_credentials_store'

async function checkLoginFile(path: string): Promise<readonly string[]> {
  try {
    const text = await readNativeFile(path)
    if (text === undefined) return []
    const login: unknown = JSON.parse(text)
    if (!isJsonObject(login)) return []
    if (isJsonObject(login.tokens)) return isPersonal(login.tokens.id_token) ? [] : [path]
    return login.personal_access_token || login.agent_identity ? [path] : []
  } catch {
    // Codex may be able to read a file that we cannot.
    return [path]
  }
}

/** The token is not verified: it is used only to predict what Codex does, not to trust anybody. */
function isPersonal(token: Json | undefined): boolean {
  const [, claims = ''] = String(token).split('.')
  const payload: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'))
  const account = isJsonObject(payload) ? payload['https://api.openai.com/auth'] : undefined
  return isJsonObject(account) && PERSONAL.has(String(account.chatgpt_plan_type))
}

export const CODEX_SOURCES: readonly ServerSource[] = [
  {
    name: 'files of the user and of the project',
    state: 'closed',
    mechanism: '`-c mcp_servers.<name>.enabled=false` for each',
  },
  { name: 'plugins, apps and skills', state: 'closed', mechanism: '`-c features.<name>=false`' },
  {
    name: 'roles of sub-agents',
    state: 'refused',
    mechanism: '`mcp_servers` in `agents/*.toml` of the user or the project, or in a file that `config_file` names',
    find: findRolesWithServers,
  },
  {
    name: 'files of the system',
    state: 'refused',
    mechanism: '`mcp_servers` in `/etc/codex`; plugins or apps that are required there; managed preferences on macOS',
    find: findSystemFiles,
  },
  {
    name: 'where its commands run',
    state: 'refused',
    mechanism: '`environments.toml`, `CODEX_EXEC_SERVER_URL` and the like: what runs there may bring servers',
    find: findExecutors,
  },
  { name: 'flags', state: 'refused', mechanism: '`-c mcp_servers…`, `--profile`, `--enable plugins`, `--remote`' },
  {
    name: 'a process of its own that runs already',
    state: 'closed',
    mechanism: '`-c` makes Codex start one for this run alone',
  },
  {
    name: 'sessions that are resumed',
    state: 'closed',
    mechanism:
      '`-C` and `-c tui.resume_cwd="current"` keep the folder of the run; `-c features.plugins=false` what was chosen in it',
  },
  {
    name: 'worktrees',
    state: 'refused',
    mechanism: '`--worktree`: it works in another folder, which is not searched',
    find: ({ args }) => ['--worktree'].filter((flag) => hasFlag(args, flag)),
  },
  {
    name: 'its organization',
    state: 'refused',
    mechanism: 'a login of a workspace, or one that cannot be seen: its service provides configuration',
    find: findOrganizationLogins,
  },
  drivingProgramSource('app-server', 'mcp-server', 'exec-server'),
]

const TOML = { key: 'mcp_servers', files: /\.toml$/, depth: 1 }

const codexHome = (host: HostContext): string => folderFromVariable(host, 'CODEX_HOME', '.codex')

/** A role is a settings file; in earlier versions it took precedence over the settings of the run. */
async function findRolesWithServers({ host, folders, native }: SourceSearch): Promise<readonly string[]> {
  const homes = [codexHome(host), ...folders.map((folder) => join(folder, '.codex'))]
  const named = native.filter(({ config }) => JSON.stringify(config.document.agents ?? {}).includes('"config_file"'))
  const found = await Promise.all(homes.map((home) => findFilesWithKey(join(home, 'agents'), TOML)))
  return [...found.flat(), ...named.map(({ file }) => `config_file in ${file.path}`)]
}

/** These files, and the features that they require, take precedence over `-c`. */
const MANAGED_FILES = /(managed_config|requirements)\.toml$/

async function findSystemFiles({ host }: SourceSearch): Promise<readonly string[]> {
  const folder = host.platform === 'win32' ? 'C:\\ProgramData\\OpenAI\\Codex' : '/etc/codex'
  const required = ['plugins', 'apps', 'connectors'].map((key) =>
    findFilesWithKey(folder, { key, files: MANAGED_FILES }),
  )
  const found = await Promise.all([findFilesWithKey(folder, TOML), ...required])
  return [...found.flat(), ...(host.platform === 'darwin' ? await findManagedPreferences(host) : [])]
}

/** The files contain other preferences too. They are binary, but the names of keys are readable. */
async function findManagedPreferences(host: HostContext): Promise<readonly string[]> {
  const folders = ['/Library/Managed Preferences', '/Library/Preferences', homePath(host, 'Library', 'Preferences')]
  const paths = [...folders, `/Library/Managed Preferences/${host.environment.USER ?? ''}`].map((folder) =>
    joinPath(host, folder, 'com.openai.codex.plist'),
  )
  const found = await Promise.all(paths.map((path) => readRegularFile(path, MAX_PREFERENCES)))
  return paths.filter((_, at) => {
    const file = found[at]
    return file?.kind === 'read' && file.bytes.includes('_toml_base64')
  })
}

const MAX_PREFERENCES = 32 * 1024 ** 2

const EXECUTOR_VARIABLES = ['CODEX_EXEC_SERVER_URL', 'CODEX_EXEC_SERVER_NOISE_REGISTRY_URL']

async function findExecutors({ host }: SourceSearch): Promise<readonly string[]> {
  const path = joinPath(host, codexHome(host), 'environments.toml')
  const isNamed = await fileMayContain(path, 'environments')
  return [...EXECUTOR_VARIABLES.filter((name) => host.environment[name]), ...(isNamed ? [path] : [])]
}
