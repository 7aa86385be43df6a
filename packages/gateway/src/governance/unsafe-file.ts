import { SallyportError } from '@sallyport/core'
import { causeCode, describeDiskError } from '../disk/disk.ts'
import { type ParseResult, readToolsFile } from './tools-file/tools-file.ts'

/** What the disk refused is a reason to leave the file alone; anything else is what it is. */
export function toUnsafeFileError(path: string, error: unknown): unknown {
  const cause = error instanceof SallyportError && error.code === 'STATE_UNUSABLE' ? error.cause : error
  if (cause instanceof SallyportError || causeCode(cause) === '') return error
  return unsafeFileError(path, `it cannot be written: ${describeDiskError(cause)}`)
}

/** Whoever is about to correct a mistake does not find another file on the disk than in the editor. */
export function assertValid(parsing: ParseResult, path: string): void {
  const reading = readToolsFile(parsing, path)
  if (!reading.ok)
    throw unsafeFileError(path, `it has a mistake in line ${reading.issue.line}: ${reading.issue.problem}`)
}

export const noToolsFileError = (): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', 'This gateway has no tools.yaml that could be changed.', {
    hint: 'Give it a home with one: --home, or `home` of createGateway.',
  })

export const unsafeFileError = (path: string, why: string): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', `${path} is left as it is: ${why.replace(/\.$/, '')}.`, {
    hint: 'Put that right, then try again.',
  })
