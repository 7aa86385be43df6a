import { chownSync, cpSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findWriteProtection } from '../disk/disk.ts'
import type { Mirror, Overlay } from './agent-overlay.ts'

/**
 * Moves files that the agent created in a mirrored folder, or with which it replaced a link (as most programs write a
 * file), to the user's folder: otherwise a login that was renewed in a run would be lost. Returns the paths that
 * failed.
 */
export function syncBackChanges(
  { files, mirrors }: Pick<Overlay, 'files' | 'mirrors'>,
  folder: string,
): readonly string[] {
  const ours = [...Object.keys(files), ...mirrors.map(({ path }) => path)]
  return mirrors.flatMap((mirror) => {
    const created = listNames(join(folder, mirror.path)).filter((name) => isNewFile(mirror, name, folder))
    return created
      .filter((name) => !ours.some((path) => `${path}/`.startsWith(`${mirror.path}/${name}/`)))
      .filter((name) => !tryMove(join(folder, mirror.path, name), join(mirror.source, name)))
      .map((name) => join(mirror.source, name))
  })
}

function isNewFile({ path, except }: Mirror, name: string, folder: string): boolean {
  // A process that the agent left running may remove a file meanwhile.
  const stats = lstatSync(join(folder, path, name), { throwIfNoEntry: false })
  return !except.includes(name) && stats?.isSymbolicLink() === false
}

function tryMove(from: string, to: string): boolean {
  try {
    const existing = statSync(to, { throwIfNoEntry: false })
    if (existing && isProtected(existing)) return false
    if (existing && isRoot) chownSync(from, existing.uid, existing.gid)
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
    renameSync(from, to)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EXDEV' && tryCopy(from, to)
  }
}

const isRoot = process.geteuid?.() === 0

/** An agent of root may replace a file of another user; the new file keeps that user as its owner. */
const isProtected = ({ uid, mode }: Stats): boolean =>
  findWriteProtection({ uid: isRoot ? 0 : uid, mode }) !== undefined

/** From another disk: copies to a temporary name first, so that nobody sees an incomplete file. */
function tryCopy(from: string, to: string): boolean {
  const temporary = join(dirname(to), `.${basename(to)}.sallyport-${process.pid}`)
  try {
    cpSync(from, temporary, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
    const { uid, gid } = statSync(from)
    if (isRoot) chownSync(temporary, uid, gid)
    renameSync(temporary, to)
    return true
  } catch {
    rmSync(temporary, { recursive: true, force: true })
    return false
  }
}

/** Empty if the folder is a link: then its files were not created by the agent. */
function listNames(folder: string): readonly string[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder) : []
  } catch {
    // The agent may have removed its own home.
    return []
  }
}
