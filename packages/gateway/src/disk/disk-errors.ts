import { SallyportError } from '@sallyport/core'

const FIXES: Readonly<Record<string, string>> = {
  ENOSPC: 'That disk has no space left. Make room on it, or choose another folder with --state.',
  EDQUOT: 'Make room, have your disk quota raised, or choose another folder with --state.',
  EFBIG: 'Raise the limit on file sizes (`ulimit -f`), or move old log files away.',
  EROFS: 'That file system is mounted read-only: mount it writable, or choose another folder with --state.',
  EACCES: 'Give the user who runs Sallyport the right to write it, or choose another folder with --state.',
  EPERM: 'Give the user who runs Sallyport the right to write there, or choose another folder with --state.',
  ENOTDIR: 'A part of that path is a file: remove it, or choose another folder with --state.',
  EEXIST: 'There is a file where a folder is needed: remove it, or choose another folder with --state.',
  ELOOP: 'There is a symbolic link where Sallyport needs a regular file: remove it.',
  EMFILE: 'Raise the limit on open files (`ulimit -n`).',
  EIO: 'The disk reports errors: check it (`dmesg`), and choose another folder with --state meanwhile.',
}

export function suggestDiskFix(cause: unknown): string {
  return FIXES[causeCode(cause)] ?? 'Check the disk and the permissions of that folder, or choose another with --state.'
}

/**
 * The error code of the system or the database, such as `ENOENT` or `SQLITE_BUSY`; empty for any other kind of error.
 */
export function causeCode(cause: unknown): string {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
}

/** The cause in short, without the system call and its path: `no space left on device (ENOSPC)`. */
export function describeDiskError(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const reason = /^[A-Z0-9]+: ([^,]+)/.exec(cause.message)?.[1]
  return reason === undefined ? cause.message : `${reason} (${causeCode(cause)})`
}

/** A `SallyportError` already says what is wrong, so it is returned as it is. */
export function stateUnusable(path: string, cause: unknown): SallyportError {
  if (cause instanceof SallyportError) return cause
  return new SallyportError('STATE_UNUSABLE', `The state at ${path} cannot be used: ${describeDiskError(cause)}.`, {
    hint: suggestDiskFix(cause),
    cause,
  })
}
