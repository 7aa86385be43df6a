import { basename, join } from 'node:path'
import type { JsonObject } from '@sallyport/core'
import { type AgentOverlay, CALL_PATIENCE_S, type OverlayRequest } from './agent-overlay.ts'
import { byName, createOverlay, folderFrom } from './overlay-parts.ts'

/** What tells OpenCode from the forks that read the same files under other names. */
export interface OpencodeKind {
  readonly title: string
  /** Of its folder below XDG_CONFIG_HOME. */
  readonly folder: string
  readonly files: readonly string[]
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
      const { folder, servers, args } = request
      const source = folderFrom(request, 'XDG_CONFIG_HOME', '.config')
      return createOverlay({
        args,
        environment: environmentFor(kind, folder),
        files: { 'servers.json': { mcp: byName(servers) }, ...withoutServers(kind, request) },
        mirrors: [
          { source, path: 'config', except: [kind.folder] },
          { source: join(source, kind.folder), path: `config/${kind.folder}`, except: kind.files },
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
    [`${prefix}_CONFIG_CONTENT`]: undefined,
    [`${prefix}_CONFIG_DIR`]: undefined,
    [`${prefix}_DISABLE_PROJECT_CONFIG`]: '1',
  }
}

function withoutServers(
  { folder, files }: OpencodeKind,
  { native }: OverlayRequest,
): Readonly<Record<string, JsonObject>> {
  const kept = native.filter(({ file }) => file.scope === 'user' && files.includes(basename(file.path)))
  return Object.fromEntries(
    kept.map(({ file, config }) => {
      const document = Object.entries(config.document).filter(([key]) => key !== 'mcp')
      return [`config/${folder}/${basename(file.path)}`, Object.fromEntries(document)]
    }),
  )
}

function projectNotes({ title }: OpencodeKind, { native }: OverlayRequest): readonly string[] {
  const left = native.filter(({ file }) => file.scope !== 'user')
  return left.map(({ file }) => `${file.path} is not read in this run: ${title} cannot leave out its servers alone.`)
}
