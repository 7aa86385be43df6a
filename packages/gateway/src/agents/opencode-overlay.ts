import { basename, dirname, join } from 'node:path'
import type { JsonObject } from '@sallyport/core'
import { type AgentOverlay, CALL_TIMEOUT_S, type OverlayRequest, type ParsedNativeFile } from './agent-overlay.ts'
import { pathFromVariable, xdgConfig } from './agent-paths.ts'
import { createOverlay, entriesByName, unwantedNames } from './create-overlay.ts'
import { drivingProgramSource, findFilesWithKey, type ServerSource } from './server-sources.ts'

/** What tells OpenCode from the forks that read the same files under other names. */
export interface OpencodeVariant {
  readonly title: string
  /** Of its folder below XDG_CONFIG_HOME. */
  readonly folder: string
  /** Those in which its servers may be; `config`, its oldest, is not linked either. */
  readonly files: readonly string[]
  /** Below the user's home, read whatever XDG_CONFIG_HOME says. */
  readonly homeFolders: readonly string[]
  /** Of its variables. */
  readonly prefix: string
  /** Sources that its forks do not have. */
  readonly moreSources?: readonly ServerSource[]
}

/** A configuration folder of its own with everything of the user's linked; its own files without their servers. */
export function createOpencodeOverlay(kind: OpencodeVariant): AgentOverlay {
  return {
    reservedFlags: ['--attach', '--cloud-fork'],
    // They use servers of a process that runs already, or serve one that others use.
    reservedCommands: ['attach', 'cloud', 'console', 'daemon', 'remote', 'serve', 'web'],
    // A project's own file is not read, but others of it may be.
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

/** Variables of the user's that name more files are taken away: servers may be in those. */
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

/** Some files are read in any case; what this variable says counts after them. */
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
  { name: 'variables', state: 'closed', mechanism: `\`${prefix}_CONFIG_DIR\` and others are taken away` },
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
  { name: 'an organization of its account', state: 'open', mechanism: 'the configuration that its service hands out' },
]

/** What the file says besides that the user named by a variable, which now names ours. */
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
  const kept = native.filter(({ file }) => dirname(file.path) === own && files.includes(basename(file.path)))
  return Object.fromEntries(kept.map((one) => [`config/${folder}/${basename(one.file.path)}`, withoutMcpKey(one)]))
}

const withoutMcpKey = ({ config }: ParsedNativeFile): JsonObject =>
  Object.fromEntries(Object.entries(config.document).filter(([key]) => key !== 'mcp'))

function projectNotes({ title }: OpencodeVariant, { native }: OverlayRequest): readonly string[] {
  const left = native.filter(({ file }) => file.scope !== 'user' && basename(file.path) !== 'mcp.json')
  return left.map(({ file }) => `${file.path} is not read in this run: ${title} cannot leave out its servers alone.`)
}
