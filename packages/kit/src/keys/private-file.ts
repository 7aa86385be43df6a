import { closeSync, constants, fchmodSync, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { codeOf } from '../add-file.ts'

const MAX_BYTES = 16 * 1024

/** The state of a file that only this user should be able to access. */
export type PrivateFile =
  | { readonly state: 'absent' }
  /** `exposed`: other users could read it, so its content may be known. */
  | { readonly state: 'sound' | 'exposed'; readonly text: string }
  /** `unreadable` may be temporary; a `refused` file stays refused until somebody changes it. */
  | { readonly state: 'refused' | 'unreadable'; readonly problem: string }

/** Opens the file first and checks the opened file, so that nobody can replace it between check and reading. */
export function readPrivateFile(path: string, whenExposed: 'close' | 'leave'): PrivateFile {
  let fd: number
  try {
    // Without O_NONBLOCK, opening a FIFO would wait for a writer.
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    return explainOpenFailure(error)
  }
  try {
    return readOpened(fd, whenExposed)
  } catch (error) {
    return { state: 'unreadable', problem: `cannot be read (${codeOf(error)})` }
  } finally {
    closeSync(fd)
  }
}

function explainOpenFailure(error: unknown): PrivateFile {
  const code = codeOf(error)
  if (code === 'ENOENT') return { state: 'absent' }
  if (code === 'ELOOP') return { state: 'refused', problem: 'is a symbolic link' }
  return { state: 'unreadable', problem: `cannot be opened (${code})` }
}

function readOpened(fd: number, whenExposed: 'close' | 'leave'): PrivateFile {
  const stats = fstatSync(fd)
  const problem = findProblem(stats)
  if (problem !== undefined) return { state: 'refused', problem }
  const exposed = hasModes() && (stats.mode & 0o077) !== 0
  if (exposed && whenExposed === 'close') fchmodSync(fd, 0o600)
  return { state: exposed ? 'exposed' : 'sound', text: readText(fd) }
}

function findProblem(stats: Stats): string | undefined {
  if (!stats.isFile()) return 'is not a regular file'
  if (stats.size > MAX_BYTES) return `has ${stats.size} bytes, more than any token or key needs`
  if (!hasModes()) return undefined
  if (stats.uid !== process.getuid?.()) return `belongs to another user (uid ${stats.uid})`
  if ((stats.mode & 0o022) !== 0) return 'can be written by other users'
  return undefined
}

function readText(fd: number): string {
  const buffer = Buffer.alloc(MAX_BYTES)
  let size = 0
  for (let read = -1; read !== 0 && size < MAX_BYTES; size += read)
    read = readSync(fd, buffer, size, MAX_BYTES - size, size)
  return buffer.toString('utf8', 0, size)
}

/** On Windows, owners and modes cannot be checked here. */
const hasModes = (): boolean => process.getuid !== undefined
