import { basename, dirname, join } from 'node:path'
import type { JsonObject } from '@sallyport/core'
import { namedPath, xdgConfig } from './agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S, type OverlayRequest, type OwnFile } from './agent-overlay.ts'
import { byName, createOverlay, unwantedNames } from './overlay-parts.ts'
import { drivenBy, filesWithServers, type ServerSource } from './server-sources.ts'

/** What tells OpenCode from the forks that read the same files under other names. */
export interface OpencodeKind {
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
export function createOpencodeOverlay(kind: OpencodeKind): AgentOverlay {
  return {
    reserved: ['--attach', '--cloud-fork'],
    // They use servers of a process that runs already, or serve one that others use.
    reservedCommands: ['attach', 'cloud', 'console', 'daemon', 'remote', 'serve', 'web'],
    // A project's own file is not read, but others of it may be.
    stays: ['project'],
    sources: sourcesOf(kind),
    entry: ({ command, args }) => ({
      type: 'local',
      command: [command, ...args],
      enabled: true,
      timeout: CALL_PATIENCE_S * 1_000,
    }),
    overlay: (request) => {
      const { folder, servers, args, place } = request
      const source = xdgConfig(place)
      const own = join(source, kind.folder)
      return createOverlay({
        args,
        environment: { ...environmentFor(kind, folder), ...switchedOff(kind, request) },
        files: {
          'servers.json': { ...namedDocument(kind, request), mcp: byName(servers) },
          ...withoutServers(kind, request, own),
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
function environmentFor({ prefix }: OpencodeKind, folder: string): Readonly<Record<string, string | undefined>> {
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
function switchedOff({ prefix }: OpencodeKind, request: OverlayRequest): Readonly<Record<string, string | undefined>> {
  const off = unwantedNames(request)
  const mcp = Object.fromEntries(off.map((name) => [name, { enabled: false }]))
  return { [`${prefix}_CONFIG_CONTENT`]: off.length === 0 ? undefined : JSON.stringify({ mcp }) }
}

const sourcesOf = ({ folder, homeFolders, prefix, moreSources = [] }: OpencodeKind): readonly ServerSource[] => [
  { name: 'configuration of the user', state: 'closed', means: `\`XDG_CONFIG_HOME\`, \`${prefix}_CONFIG\`` },
  {
    name: 'folders of the home',
    state: 'closed',
    means: `\`~/${homeFolders.join('`, `~/')}\`: \`enabled: false\` for each name, by \`${prefix}_CONFIG_CONTENT\``,
  },
  { name: 'configuration of the project', state: 'closed', means: `\`${prefix}_DISABLE_PROJECT_CONFIG\`` },
  { name: 'variables', state: 'closed', means: `\`${prefix}_CONFIG_DIR\` and others are taken away` },
  ...moreSources,
  {
    name: 'configuration of the system',
    state: 'refused',
    means: `\`mcp\` in \`/etc/${folder}\``,
    find: ({ place }) =>
      place.platform === 'linux' ? filesWithServers(`/etc/${folder}`, { key: '"mcp"', files: /\.jsonc?$/ }) : [],
  },
  {
    name: 'configuration from afar',
    state: 'refused',
    means: `a login of the kind \`wellknown\`, in \`auth.json\` or \`${prefix}_AUTH_CONTENT\``,
    find: async ({ place }) => {
      const data = namedPath(place, 'XDG_DATA_HOME') ?? join(place.home, '.local/share')
      const variable = `${prefix}_AUTH_CONTENT`
      const isNamed = place.environment[variable]?.includes('wellknown') ?? false
      const files = await filesWithServers(join(data, folder), { key: '"wellknown"', files: /[/\\]auth\.json$/ })
      return [...files, ...(isNamed ? [variable] : [])]
    },
  },
  { name: 'flags', state: 'refused', means: '`--attach`, `attach`, `serve`' },
  drivenBy('acp'),
  { name: 'an organization of its account', state: 'open', means: 'the configuration that its service hands out' },
]

/** What the file says besides that the user named by a variable, which now names ours. */
function namedDocument({ prefix }: OpencodeKind, { native, place }: OverlayRequest): JsonObject {
  const path = namedPath(place, `${prefix}_CONFIG`)
  const named = native.find(({ file }) => file.path === path)
  return named === undefined ? {} : documentOf(named)
}

function withoutServers(
  { folder, files }: OpencodeKind,
  { native }: OverlayRequest,
  own: string,
): Readonly<Record<string, JsonObject>> {
  const kept = native.filter(({ file }) => dirname(file.path) === own && files.includes(basename(file.path)))
  return Object.fromEntries(kept.map((one) => [`config/${folder}/${basename(one.file.path)}`, documentOf(one)]))
}

const documentOf = ({ config }: OwnFile): JsonObject =>
  Object.fromEntries(Object.entries(config.document).filter(([key]) => key !== 'mcp'))

function projectNotes({ title }: OpencodeKind, { native }: OverlayRequest): readonly string[] {
  const left = native.filter(({ file }) => file.scope !== 'user' && basename(file.path) !== 'mcp.json')
  return left.map(({ file }) => `${file.path} is not read in this run: ${title} cannot leave out its servers alone.`)
}
