import { isUtf8 } from 'node:buffer'
import { lstatSync, opendirSync, readlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename } from 'node:path'
import type { LinkStatus, PathContext } from '@sallyport/core'
import type { Environment, ProgramServerConfig, ServerConfig } from '../config/config.ts'
import { createBaseFinder } from './base-folders.ts'

export interface PathContextOptions {
  /** The environment variables of the server. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly userHome: string
  readonly cwd: string
  /** The arguments of the server. Relative paths may be relative to a folder among them. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly platform: string
}

/** The file system of this machine, as a server that was started here sees it. */
export function createPathContext(options: PathContextOptions): PathContext {
  const { userHome, cwd, args = [], env = {}, platform } = options
  const environment = (name: string): string | undefined =>
    Object.hasOwn(options.environment, name) ? options.environment[name] : undefined
  return {
    environment,
    userHome,
    cwd,
    listBaseFolders: createBaseFinder({ args, env, cwd, userHome, environment }),
    inspectLink,
    listNames,
    case: platform === 'darwin' || platform === 'win32' ? 'folded' : 'exact',
  }
}

/** The file system of another machine: only absolute paths can be checked, and links are not visible. */
export const REMOTE_PATH_CONTEXT: PathContext = {
  environment: () => undefined,
  userHome: undefined,
  cwd: undefined,
  listBaseFolders: () => [],
  inspectLink: undefined,
  listNames: () => [],
  case: 'exact',
}

function inspectLink(path: string): LinkStatus {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return 'missing'
    return found.isSymbolicLink() ? readLink(path) : 'other'
  } catch {
    return 'unreadable'
  }
}

/** Listing a folder blocks the event loop, and so all other calls. */
const MAX_NAMES = 10_000

function listNames(folder: string): readonly string[] | undefined {
  try {
    const entries = opendirSync(folder, { bufferSize: 1_000 })
    const names: string[] = []
    try {
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        if (names.length === MAX_NAMES) return undefined
        names.push(entry.name)
      }
    } finally {
      entries.closeSync()
    }
    return names
  } catch {
    return []
  }
}

function readLink(path: string): LinkStatus {
  // /proc/self/cwd depends on the process that reads it, and here that is the gateway and not the server.
  if (path.startsWith('/proc/')) return 'unreadable'
  const target = readlinkSync(path, 'buffer')
  // The decoded string would be another path, which may not exist.
  return isUtf8(target) ? { target: target.toString() } : 'unreadable'
}

/** Programs that run another program in a container or on another machine, which cannot see our disk. */
const REMOTE_RUNNERS = new Set(['docker', 'podman', 'nerdctl', 'finch', 'kubectl', 'ssh'])

/** The file system that the paths of a server's tools refer to: our disk for a local program, else another machine's. */
export function createServerPathContext(server: ServerConfig | undefined, environment: Environment): PathContext {
  if (server === undefined || !('command' in server) || runsElsewhere(server)) return REMOTE_PATH_CONTEXT
  const serverEnvironment = { ...environment, ...server.env }
  const userHome = serverEnvironment.HOME ?? homedir()
  const cwd = server.cwd ?? process.cwd()
  const { args, env } = server
  return createPathContext({ environment: serverEnvironment, userHome, cwd, args, env, platform: process.platform })
}

const runsElsewhere = ({ kind, command }: ProgramServerConfig): boolean =>
  kind === 'docker-gateway' || REMOTE_RUNNERS.has(basename(command))
