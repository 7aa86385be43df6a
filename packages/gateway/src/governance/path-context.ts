import { isUtf8 } from 'node:buffer'
import { lstatSync, opendirSync, readlinkSync } from 'node:fs'
import type { LinkStatus, PathContext } from '@sallyport/core'
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
