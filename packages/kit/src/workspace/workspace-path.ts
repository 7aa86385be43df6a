import { isAbsolute, join, relative, sep } from 'node:path'
import { quoteText } from '@sallyport/core'
import { ToolRetryError } from '../retry-fatal-errors.ts'
import { isTemporaryName } from './temporary-name.ts'

/** The path that agents see instead of the directory on the host. */
const WORKSPACE = '/workspace'

const MAX_PATH_BYTES = 4096
const MAX_SEGMENT_BYTES = 255
/** Creating the directories of a path takes quadratic time in its depth. */
export const MAX_PATH_DEPTH = 100
const MAX_SHOWN = 80

/** The names between the slashes of a path under /workspace, each safe to look up in one directory. */
export function parseWorkspacePath(path: string): readonly string[] {
  if (typeof path !== 'string') throw new ToolRetryError(`The path is ${typeof path}; expected a string.`)
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new ToolRetryError(`The path is over ${MAX_PATH_BYTES} bytes long.`)
  if (path.includes('\0')) throw new ToolRetryError('The path has a NUL character in it.')
  // A lone surrogate turns into U+FFFD on its way to the disk, where it would name another file.
  if (!isWellFormed(path)) throw new ToolRetryError('The path is not well-formed Unicode.')
  const segments = splitPath(path)
  if (segments.length > MAX_PATH_DEPTH)
    throw new ToolRetryError(`The path is ${segments.length} names deep; at most ${MAX_PATH_DEPTH} are allowed.`)
  for (const segment of segments) checkSegment(segment)
  return segments
}

export const formatWorkspacePath = (segments: readonly string[]): string => [WORKSPACE, ...segments].join('/')

/** For programs that need a file's path on the host. It is only a path: what it leads to may change at any time. */
export const workspaceToHostPath = (root: string, path: string): string => join(root, ...parseWorkspacePath(path))

/** The agent's path of a file on the host. No message contains the host path. */
export function hostToWorkspacePath(root: string, hostPath: string): string {
  const below = relative(root, hostPath)
  if (!isAbsolute(hostPath) || isAbsolute(below) || below.split(sep)[0] === '..')
    throw new ToolRetryError('The file is outside the workspace.')
  return formatWorkspacePath(parseWorkspacePath(`${WORKSPACE}/${sep === '/' ? below : below.replaceAll(sep, '/')}`))
}

function splitPath(path: string): readonly string[] {
  if (path !== WORKSPACE && !path.startsWith(`${WORKSPACE}/`))
    throw new ToolRetryError(
      `The path ${quoteText(path, MAX_SHOWN)} is outside ${WORKSPACE}. Give one such as ${WORKSPACE}/notes.txt.`,
    )
  return path
    .slice(WORKSPACE.length)
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
}

function checkSegment(segment: string): void {
  if (segment === '..') throw new ToolRetryError('The path has ".." in it. Write it without "..".')
  if (/%(?:2e|2f|5c|00)/i.test(segment))
    throw new ToolRetryError(
      'The path has percent-encoded dots, slashes or NULs in it. Write it without percent-encoding.',
    )
  // On Windows a backslash separates names and a colon marks a drive or a stream; elsewhere they are usually a mistake.
  if (segment.includes('\\')) throw new ToolRetryError('The path has a backslash in it. Separate names with "/".')
  if (sep === '\\' && segment.includes(':')) throw new ToolRetryError('The path has a colon in it.')
  if (/[\p{Cc}\u2028\u2029]/u.test(segment)) throw new ToolRetryError('The path has control characters in it.')
  if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)
    throw new ToolRetryError(`A name in the path is over ${MAX_SEGMENT_BYTES} bytes long.`)
  if (isTemporaryName(segment))
    throw new ToolRetryError('The path has a name in it that is reserved for unfinished files.')
}

/** String.prototype.isWellFormed, which is not in the ES2023 library. */
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)
