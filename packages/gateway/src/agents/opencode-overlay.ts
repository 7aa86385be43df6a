import { basename, dirname, join } from 'node:path'
import type { JsonObject } from '@sallyport/core'
import { type AgentOverlay, CALL_TIMEOUT_S, type OverlayRequest, type ParsedNativeFile } from './agent-overlay.ts'
import { pathFromVariable, xdgConfig } from './agent-paths.ts'
import { createOverlay, entriesByName, unwantedNames } from './create-overlay.ts'
import { drivingProgramSource, findFilesWithKey, type ServerSource } from './server-sources.ts'

/** The differences between OpenCode and its forks, which read the same files under other names. */
export interface OpencodeVariant {
  readonly title: string
  /** The name of its folder in XDG_CONFIG_HOME. */
  readonly folder: string
  /** Files that may contain servers, including `config`, the oldest name. They are not linked. */
  readonly files: readonly string[]
  /** Folders in the user's home that are read regardless of XDG_CONFIG_HOME. */
  readonly homeFolders: readonly string[]
  /** The prefix of its variables. */
  readonly prefix: string
  /** Sources that only this variant has. */
  readonly moreSources?: readonly ServerSource[]
}

/**
 * A separate configuration folder with links to all of the user's files, and copies of its own files without servers.
 */
export function createOpencodeOverlay(kind: OpencodeVariant): AgentOverlay {
  return {
    reservedFlags: ['--attach', '--cloud-fork'],
    // They use servers of a running process, or start one for others.
    reservedCommands: ['attach', 'cloud', 'console', 'daemon', 'remote', 'serve', 'web'],
    // The project's main file is not read, but other files of the project may be.
    remainingScopes: ['project'],
    sources: listSources(kind),
    createEntry: ({ command, args }) => ({
      type: 'local',
      command: [command, ...args],
      enabled: true,
      timeout: CALL_TIMEOUT_S * 1_000,
    }),
    overlay: (request) => {
      const { folder, servers, args, host } = request
      const source = xdgConfig(host)
      const own = join(source, kind.folder)
      return createOverlay({
        args,
        environment: { ...environmentFor(kind, folder), ...disableUnwantedServers(kind, request) },
        files: {
          'servers.json': { ...documentFromVariable(kind, request), mcp: entriesByName(servers) },
          ...filesWithoutServers(kind, request, own),
        },
        mirrors: [
          { source, path: 'config', except: [kind.folder] },
          { source: own, path: `config/${kind.folder}`, except: kind.files },
        ],
        notes: projectNotes(kind, request),
      })
    },
  }
}

/** Removes the user's variables that name further files, because these may contain servers. */
function environmentFor({ prefix }: OpencodeVariant, folder: string): Readonly<Record<string, string | undefined>> {
  return {
    XDG_CONFIG_HOME: join(folder, 'config'),
    [`${prefix}_CONFIG`]: join(folder, 'servers.json'),
    [`${prefix}_CONFIG_DIR`]: undefined,
    [`${prefix}_TEST_HOME`]: undefined,
    [`${prefix}_TEST_MANAGED_CONFIG_DIR`]: undefined,
    [`${prefix}_PLATFORM`]: undefined,
    [`${prefix}CODE_FEATURE`]: undefined,
    [`${prefix}_DISABLE_PROJECT_CONFIG`]: '1',
  }
}

/** Some files are always read; this variable takes precedence over them. */
function disableUnwantedServers(
  { prefix }: OpencodeVariant,
  request: OverlayRequest,
): Readonly<Record<string, string | undefined>> {
  const off = unwantedNames(request)
  const mcp = Object.fromEntries(off.map((name) => [name, { enabled: false }]))
  return { [`${prefix}_CONFIG_CONTENT`]: off.length === 0 ? undefined : JSON.stringify({ mcp }) }
}

const listSources = ({ folder, homeFolders, prefix, moreSources = [] }: OpencodeVariant): readonly ServerSource[] => [
  { name: 'configuration of the user', state: 'closed', mechanism: `\`XDG_CONFIG_HOME\`, \`${prefix}_CONFIG\`` },
  {
    name: 'folders of the home',
    state: 'closed',
    mechanism: `\`~/${homeFolders.join('`, `~/')}\`: \`enabled: false\` for each name, by \`${prefix}_CONFIG_CONTENT\``,
  },
  { name: 'configuration of the project', state: 'closed', mechanism: `\`${prefix}_DISABLE_PROJECT_CONFIG\`` },
  { name: 'variables', state: 'closed', mechanism: `\`${prefix}_CONFIG_DIR\` and others are removed` },
  ...moreSources,
  {
    name: 'configuration of the system',
    state: 'refused',
    mechanism: `\`mcp\` in \`/etc/${folder}\``,
    find: ({ host }) =>
      host.platform === 'linux' ? findFilesWithKey(`/etc/${folder}`, { key: '"mcp"', files: /\.jsonc?$/ }) : [],
  },
  {
    name: 'configuration from afar',
    state: 'refused',
    mechanism: `a login of the kind \`wellknown\`, in \`auth.json\` or \`${prefix}_AUTH_CONTENT\``,
    find: async ({ host }) => {
      const data = pathFromVariable(host, 'XDG_DATA_HOME') ?? join(host.home, '.local/share')
      const variable = `${prefix}_AUTH_CONTENT`
      const isNamed = host.environment[variable]?.includes('wellknown') ?? false
      const files = await findFilesWithKey(join(data, folder), { key: '"wellknown"', files: /[/\\]auth\.json$/ })
      return [...files, ...(isNamed ? [variable] : [])]
    },
  },
  { name: 'flags', state: 'refused', mechanism: '`--attach`, `attach`, `serve`' },
  drivingProgramSource('acp'),
  { name: 'an organization of its account', state: 'open', mechanism: 'the configuration that its service provides' },
]

/** The other settings of the file that the user's variable named; the variable now names our file. */
function documentFromVariable({ prefix }: OpencodeVariant, { native, host }: OverlayRequest): JsonObject {
  const path = pathFromVariable(host, `${prefix}_CONFIG`)
  const named = native.find(({ file }) => file.path === path)
  return named === undefined ? {} : withoutMcpKey(named)
}

function filesWithoutServers(
  { folder, files }: OpencodeVariant,
  { native }: OverlayRequest,
  own: string,
): Readonly<Record<string, JsonObject>> {
  const ownFiles = native.filter(({ file }) => dirname(file.path) === own && files.includes(basename(file.path)))
  return Object.fromEntries(ownFiles.map((one) => [`config/${folder}/${basename(one.file.path)}`, withoutMcpKey(one)]))
}

const withoutMcpKey = ({ config }: ParsedNativeFile): JsonObject =>
  Object.fromEntries(Object.entries(config.document).filter(([key]) => key !== 'mcp'))

function projectNotes({ title }: OpencodeVariant, { native }: OverlayRequest): readonly string[] {
  const left = native.filter(({ file }) => file.scope !== 'user' && basename(file.path) !== 'mcp.json')
  return left.map(({ file }) => `${file.path} is not read in this run: ${title} cannot leave out its servers alone.`)
}
