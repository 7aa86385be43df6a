import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import type { Mount } from '../drivers/driver.ts'

export interface ProtectedFolders {
  /** The user's home folder. Neither it nor a folder around it is ever shown as a whole. */
  readonly home: string
  /** Never shown, whatever somebody asks for: what is in a folder that is shown is hidden. */
  readonly secret: readonly string[]
}

export interface ProtectionOptions {
  readonly userHome: string
  /** The config home, the state folder and the folder of keys. */
  readonly own: readonly string[]
}

/** Folders that hold so much more than one program's files that they are never shown because of one. */
const COMMON_FOLDERS = ['/', '/home', '/root', '/tmp', '/var', '/var/tmp', '/var/lib', '/etc', '/opt', '/srv', '/mnt']
/** Nothing in these is ever shown. */
const MACHINE_FOLDERS = ['/media', '/run', '/dev', '/proc', '/sys', '/boot']

/** The same, below the home folder. */
const COMMON_FOLDERS_OF_USER = ['.config', '.local', '.local/bin', '.local/share', '.local/state', '.cache']

const SECRETS_OF_USER = ['.ssh', '.gnupg', '.aws', '.config/gcloud', '.kube', '.docker', '.password-store']

export function createProtection({ userHome, own }: ProtectionOptions): ProtectedFolders {
  const home = resolveLinks(userHome)
  const secret = [...SECRETS_OF_USER.map((name) => join(home, name)), ...own].map(resolveLinks)
  return { home, secret: [...new Set(secret)] }
}

/** Why a folder must not be shown as a whole; `undefined` if it may. The path is without symbolic links. */
export function findProtection(path: string, { home, secret }: ProtectedFolders): string | undefined {
  const holder = secret.find((folder) => isInside(path, folder))
  if (holder !== undefined) return `${holder} is never shown to sandboxes`
  if (isInside(home, path)) return `it contains the home folder ${home}`
  const common = [...COMMON_FOLDERS, ...COMMON_FOLDERS_OF_USER.map((name) => join(home, name))]
  if (common.includes(path) || MACHINE_FOLDERS.some((folder) => isInside(path, folder)))
    return 'it holds more than the files of one program'
  return undefined
}

/** The existing folders below a path that must be hidden if it is shown. */
function findHidden(path: string, { secret }: ProtectedFolders): readonly string[] {
  return secret.filter((folder) => isInside(folder, path) && existsSync(folder))
}

/** Where folders are inside that must be hidden because of these mounts. */
export function findAllHidden(mounts: readonly Mount[], protection: ProtectedFolders): readonly string[] {
  return mounts.flatMap(({ host, guest }) =>
    findHidden(host, protection).map((folder) => `${guest}${folder.slice(host.length)}`),
  )
}

export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)

/** What of the path exists, without links; the rest as it is. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(resolveLinks(parent), path.slice(parent === sep ? 1 : parent.length + 1))
  }
}
