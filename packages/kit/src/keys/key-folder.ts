import { lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { codeOf } from '../add-file.ts'

/** Where keys are stored. */
export interface KeyLocation {
  readonly folder: string
  /** The folders that must not contain the keys, because they are copied and backed up. */
  readonly notInside: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/** `$SALLYPORT_KEYS`, else `$XDG_DATA_HOME/sallyport/keys`: outside of all data. */
export function findKeyFolder({ SALLYPORT_KEYS: chosen, XDG_DATA_HOME: xdg }: Environment): string {
  if (chosen !== undefined && chosen !== '') return resolve(chosen)
  // The XDG specification requires relative paths to be ignored.
  const data = xdg?.startsWith('/') ? xdg : join(homedir(), '.local', 'share')
  return join(data, 'sallyport', 'keys')
}

/** Creates the folder if it is missing. Throws if its location, owner or mode is wrong. */
export function openKeyFolder(location: KeyLocation): void {
  checkLocation(location)
  mkdirSync(location.folder, { recursive: true, mode: 0o700 })
  checkFolder(location.folder)
}

/** The same check without creating anything. Returns false if the folder does not exist. */
export function hasKeyFolder(location: KeyLocation): boolean {
  checkLocation(location)
  const stats = lstatSync(location.folder, { throwIfNoEntry: false })
  if (stats === undefined) return false
  checkFolder(location.folder)
  return true
}

function checkFolder(folder: string): void {
  const stats: Stats = lstatSync(folder)
  // Windows has no owners and modes that could be checked here.
  const user = process.getuid?.()
  if (user === undefined) return
  if (stats.isSymbolicLink())
    throw keysUnusable(`The folder ${folder} is a symbolic link.`, {
      hint: 'Name the folder itself with SALLYPORT_KEYS.',
    })
  if (stats.uid !== user)
    throw keysUnusable(`The folder ${folder} belongs to the user with id ${stats.uid}; Sallyport runs as ${user}.`, {
      hint: `Name a folder of your own with SALLYPORT_KEYS, or change the owner: chown -R ${user} ${folder}`,
    })
  if ((stats.mode & 0o077) !== 0)
    throw keysUnusable(`The folder ${folder} is open to other users (mode ${(stats.mode & 0o777).toString(8)}).`, {
      hint: `Restrict it: chmod 700 ${folder}`,
    })
}

function checkLocation({ folder, notInside }: KeyLocation): void {
  const real = realPath(folder)
  const around = notInside.find((outer) => !/^\.\.(\/|$)/.test(relative(realPath(outer), real)))
  if (around === undefined) return
  throw keysUnusable(`The folder for keys, ${folder}, is inside ${around}.`, {
    hint: 'Name a folder outside of all data and configuration with SALLYPORT_KEYS: those are copied and backed up.',
  })
}

/** The path behind all links, also of a folder that does not exist yet. */
function realPath(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync(absolute)
  } catch (cause) {
    const parent = dirname(absolute)
    if (codeOf(cause) !== 'ENOENT' || parent === absolute) return absolute
    return join(realPath(parent), basename(absolute))
  }
}

/** An error about keys that cannot be read, written or trusted. */
export const keysUnusable = (
  message: string,
  details: { readonly hint: string; readonly cause?: unknown },
): SallyportError => new SallyportError('KEYS_UNUSABLE', message, details)
