import { chownSync, cpSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findWriteProtection } from '../disk/disk.ts'
import type { Mirror, Overlay } from './agent-overlay.ts'

/**
 * What an agent made new in a mirrored folder, or put in the place of a link (as most programs write a file), is moved to
 * where it would have gone without us: else a login that was renewed in a run would be lost with it. Returns what failed.
 */
export function syncBackChanges(
  { files, mirrors }: Pick<Overlay, 'files' | 'mirrors'>,
  folder: string,
): readonly string[] {
  const ours = [...Object.keys(files), ...mirrors.map(({ path }) => path)]
  return mirrors.flatMap((mirror) => {
    const made = listNames(join(folder, mirror.path)).filter((name) => isNewFile(mirror, name, folder))
    return made
      .filter((name) => !ours.some((path) => `${path}/`.startsWith(`${mirror.path}/${name}/`)))
      .filter((name) => !tryMove(join(folder, mirror.path, name), join(mirror.source, name)))
      .map((name) => join(mirror.source, name))
  })
}

function isNewFile({ path, except }: Mirror, name: string, folder: string): boolean {
  // What the agent left running may take a file away while we look.
  const stats = lstatSync(join(folder, path, name), { throwIfNoEntry: false })
  return !except.includes(name) && stats?.isSymbolicLink() === false
}

function tryMove(from: string, to: string): boolean {
  try {
    const there = statSync(to, { throwIfNoEntry: false })
    if (there && isProtected(there)) return false
    if (there && isRoot) chownSync(from, there.uid, there.gid)
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
    renameSync(from, to)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EXDEV' && tryCopy(from, to)
  }
}

const isRoot = process.geteuid?.() === 0

/** Root's agent would write into the file of another user; what takes its place stays that user's. */
const isProtected = ({ uid, mode }: Stats): boolean =>
  findWriteProtection({ uid: isRoot ? 0 : uid, mode }) !== undefined

/** From another disk: beside the place first, so that nobody finds half of it. */
function tryCopy(from: string, to: string): boolean {
  const beside = join(dirname(to), `.${basename(to)}.sallyport-${process.pid}`)
  try {
    cpSync(from, beside, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
    const { uid, gid } = statSync(from)
    if (isRoot) chownSync(beside, uid, gid)
    renameSync(beside, to)
    return true
  } catch {
    rmSync(beside, { recursive: true, force: true })
    return false
  }
}

/** Of a link in the place of the folder nothing is the agent's. */
function listNames(folder: string): readonly string[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder) : []
  } catch {
    // The agent may have removed its own home.
    return []
  }
}
