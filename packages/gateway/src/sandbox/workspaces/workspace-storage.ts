import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { messageOf } from '@sallyport/core'

export type WorkspaceStorage = 'memory' | 'disk'

export interface StorageOptions {
  /** The state folder. Its workspaces belong to the one gateway that holds its lock. */
  readonly state: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** What `statfs` says of a file system in memory. */
const TMPFS = 0x01_02_19_94
const PRIVATE_MODE = 0o700
/** Names the state that a folder belongs to, so that it can be removed when that no longer exists. */
export const OWNER_FILE = 'state'
const OWN_NAME = /^sallyport-[0-9a-f]{16}$/

/** Identifies a state folder by its path. */
export const identifyState = (state: string): string => createHash('sha256').update(state).digest('hex').slice(0, 16)

/** The folders of workspaces that can exist for a state: none of them is ever shown as a whole. */
export function listStorageFolders({ state, environment }: StorageOptions): readonly string[] {
  const inMemory = listMemoryFolders(environment).map((folder) => join(folder, `sallyport-${identifyState(state)}`))
  return [...inMemory, diskFolder(state)]
}

/** Creates the folder of all workspaces of a state, private. Returns what is wrong if there cannot be one. */
export function openStorage(
  storage: WorkspaceStorage,
  options: StorageOptions,
): { readonly folder: string } | { readonly problem: string } {
  if (storage === 'disk') return makePrivate(diskFolder(options.state), options.state)
  const parent = listMemoryFolders(options.environment).find(isUsable)
  return parent === undefined
    ? { problem: 'neither $XDG_RUNTIME_DIR nor /dev/shm is a folder in memory that this user can write' }
    : makePrivate(join(parent, `sallyport-${identifyState(options.state)}`), options.state)
}

/** Removes the folders in memory of states that no longer exist. */
export async function sweepStorage({ environment }: Pick<StorageOptions, 'environment'>): Promise<void> {
  for (const parent of listMemoryFolders(environment))
    for (const name of listNames(parent).filter((one) => OWN_NAME.test(one))) {
      const folder = join(parent, name)
      if (isOrphan(folder)) await rm(folder, { recursive: true, force: true }).catch(() => undefined)
    }
}

const diskFolder = (state: string): string => join(state, 'sandbox-workspaces')

const listMemoryFolders = ({ XDG_RUNTIME_DIR: own = '' }: StorageOptions['environment']): readonly string[] =>
  isAbsolute(own) ? [own, '/dev/shm'] : ['/dev/shm']

function isUsable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return statfsSync(folder).type === TMPFS
  } catch {
    return false
  }
}

/** Everybody can write to /dev/shm: a folder that somebody else made there is not used. */
function makePrivate(folder: string, state: string): { readonly folder: string } | { readonly problem: string } {
  try {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_MODE })
    if (!isOwnFolder(folder)) return { problem: `${folder} is not a private folder of this user` }
    writeFileSync(join(folder, OWNER_FILE), state, { mode: 0o600 })
    return { folder }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

function isOwnFolder(folder: string): boolean {
  const found = lstatSync(folder)
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
}

function isOrphan(folder: string): boolean {
  try {
    return isOwnFolder(folder) && !exists(readFileSync(join(folder, OWNER_FILE), 'utf8'))
  } catch {
    return false
  }
}

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** What is in a folder; nothing if it cannot be read. */
export function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
