import { quoteText } from '@sallyport/core'
import { ToolRetryError } from '../tool-error.ts'

/** What agents see instead of the directory on the host. */
const WORKSPACE = '/workspace'

const MAX_PATH_BYTES = 4096
const MAX_SEGMENT_BYTES = 255
const SHOWN = 80

/** The names between the slashes of a path under /workspace, each fit to be looked up in one directory. */
export function readWorkspacePath(path: string): readonly string[] {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new ToolRetryError(`The path is over ${MAX_PATH_BYTES} bytes long.`)
  if (path.includes('\0')) throw new ToolRetryError('The path has a NUL character in it.')
  // A lone surrogate turns into U+FFFD on its way to the disk, where it would name another file.
  if (!isWellFormed(path)) throw new ToolRetryError('The path is not well-formed Unicode.')
  const segments = below(path)
  for (const segment of segments) checkSegment(segment)
  return segments
}

export const workspacePath = (segments: readonly string[]): string => [WORKSPACE, ...segments].join('/')

function below(path: string): readonly string[] {
  if (path !== WORKSPACE && !path.startsWith(`${WORKSPACE}/`))
    throw new ToolRetryError(
      `The path ${quoteText(path, SHOWN)} is outside ${WORKSPACE}. Give one such as ${WORKSPACE}/notes.txt.`,
    )
  return path
    .slice(WORKSPACE.length)
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
}

function checkSegment(segment: string): void {
  if (segment === '..') throw new ToolRetryError('The path has ".." in it. Write it without.')
  if (/%(?:2e|2f|5c|00)/i.test(segment))
    throw new ToolRetryError('The path has percent-encoded dots, slashes or NULs in it. Write it plainly.')
  if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)
    throw new ToolRetryError(`A name in the path is over ${MAX_SEGMENT_BYTES} bytes long.`)
}

/** String.prototype.isWellFormed, which the ES2023 library does not know. */
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)
