import { ToolFatalError, ToolRetryError } from '../retry-fatal-errors.ts'

export const linkRefusal = (): ToolRetryError =>
  new ToolRetryError('The path goes through a symbolic link, which is not followed.')

export const specialRefusal = (): ToolRetryError => new ToolRetryError('The path names neither a file nor a directory.')

export const directoryRefusal = (): ToolRetryError => new ToolRetryError('The path names a directory, not a file.')

const MESSAGE_BY_CODE: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOENT', 'there is no such file or directory.'],
  ['ELOOP', linkRefusal().message],
  ['ENOTDIR', 'a part of the path is not a directory, or is a link.'],
  ['EISDIR', directoryRefusal().message],
  ['EEXIST', 'there is already a file or directory of that name.'],
  ['ENOTEMPTY', 'the directory is not empty.'],
  ['EINVAL', 'the file system refuses such a name, or a directory would be moved into itself.'],
  ['ENXIO', specialRefusal().message],
  ['ENODEV', specialRefusal().message],
  ['EACCES', 'the file system denies access.'],
  ['EPERM', 'the file system denies access.'],
  ['EROFS', 'the workspace is read-only.'],
  ['EXDEV', 'it cannot be moved there: that is another file system.'],
  ['ENAMETOOLONG', 'a name in the path is too long.'],
])

const DISK_FULL_CODES: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT'])

/** The messages of Node's errors contain host paths, which must not reach an agent. */
export function hideHostPath(error: unknown, path: string): unknown {
  if (error instanceof ToolRetryError) return new ToolRetryError(`${path}: ${error.message}`, { cause: error.cause })
  const code = systemErrorCode(error)
  if (code === undefined) return error
  const cause = toSafeCause(error)
  const message = MESSAGE_BY_CODE.get(code)
  if (message !== undefined) return new ToolRetryError(`${path}: ${message}`, { cause })
  const reason = DISK_FULL_CODES.has(code) ? 'the disk is full' : `the file system failed (${code})`
  return new ToolFatalError(`${path}: ${reason}.`, { cause })
}

/** The same error without the host paths. */
export function toSafeCause(error: unknown): Error {
  const syscall = error instanceof Error && 'syscall' in error ? String(error.syscall) : 'a call'
  return new Error(`${systemErrorCode(error) ?? 'an error'} from ${syscall}`)
}

/** The code of a failed system call. Errors of the caller's own function are not system errors, whatever their code. */
export function systemErrorCode(error: unknown): string | undefined {
  const isOfSystem = error instanceof Error && 'code' in error && 'syscall' in error
  return isOfSystem && typeof error.code === 'string' ? error.code : undefined
}

/** Returns `undefined` if the file does not exist. */
export async function undefinedIfMissing<Value>(work: Promise<Value>): Promise<Value | undefined> {
  try {
    return await work
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
