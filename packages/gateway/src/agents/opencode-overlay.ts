import { basename, dirname, join } from 'node:path'
import type { JsonObject } from '@sallyport/core'
import { namedPath, xdgConfig } from './agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S, type OverlayRequest, type OwnFile } from './agent-overlay.ts'
import { byName, createOverlay, namesOf } from './overlay-parts.ts'

/** What tells OpenCode from the forks that read the same files under other names. */
export interface OpencodeKind {
  readonly title: string
  /** Of its folder below XDG_CONFIG_HOME. */
  readonly folder: string
  readonly files: readonly string[]
  /** Below the user's home, read whatever XDG_CONFIG_HOME says. */
  readonly homeFolders: readonly string[]
  /** Of its variables. */
  readonly prefix: string
}

/** A configuration folder of its own with everything of the user's linked; its own files without their servers. */
export function createOpencodeOverlay(kind: OpencodeKind): AgentOverlay {
  return {
    reserved: [],
    stays: [],
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
    [`${prefix}_DISABLE_PROJECT_CONFIG`]: '1',
  }
}

/** A folder of the home is read in any case, after our file; what this variable says counts last of all. */
function switchedOff(
  { prefix, homeFolders }: OpencodeKind,
  { native, servers, place }: OverlayRequest,
): Readonly<Record<string, string | undefined>> {
  const folders = homeFolders.map((folder) => join(place.home, folder))
  const found = native.filter(({ file }) => folders.includes(dirname(file.path)))
  const wanted = new Set(namesOf(servers))
  const off = found.flatMap(({ config }) => namesOf(config.servers)).filter((name) => !wanted.has(name))
  const mcp = Object.fromEntries(off.map((name) => [name, { enabled: false }]))
  return { [`${prefix}_CONFIG_CONTENT`]: off.length === 0 ? undefined : JSON.stringify({ mcp }) }
}

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
  const left = native.filter(({ file }) => file.scope !== 'user')
  return left.map(({ file }) => `${file.path} is not read in this run: ${title} cannot leave out its servers alone.`)
}
