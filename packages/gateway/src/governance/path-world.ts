import { isUtf8 } from 'node:buffer'
import { lstatSync, opendirSync, readlinkSync } from 'node:fs'
import type { LinkStatus, PathContext } from '@sallyport/core'
import { createBaseFinder } from './base-folders.ts'

export interface PathWorldOptions {
  /** What the server finds in its environment. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly userHome: string
  readonly cwd: string
  /** What the server is started with: the folders among it may be where it reads relative paths from. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly platform: string
}

/** This machine, as a server that was started here finds it. */
export function createPathWorld(options: PathWorldOptions): PathContext {
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

/** Somebody else's machine: only paths from its root can be judged, and links there are not seen. */
export const REMOTE_PATH_WORLD: PathContext = {
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

/** A call waits for it, and so does everybody else's. */
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
  // What /proc/self/cwd leads to depends on who asks, and it is not the server who does.
  if (path.startsWith('/proc/')) return 'unreadable'
  const target = readlinkSync(path, 'buffer')
  // Decoded, it would name something else, which may not be there.
  return isUtf8(target) ? { target: target.toString() } : 'unreadable'
}
