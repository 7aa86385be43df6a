import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import {
  causeCode,
  describeDiskError,
  isSameContent,
  makeFolder,
  replaceFile,
  resolveLockPath,
  withLockFile,
} from '../../disk/disk.ts'
import { maxHomeFileBytes, readHomeFile } from '../home/home-content.ts'
import { invalidFileError } from '../load-settings.ts'
import type { Profiles } from '../settings.ts'
import { readProfiles } from './profiles.ts'

/** profiles.json as it is on disk. */
export interface ProfilesFile {
  readonly path: string
  readonly text: string
  readonly profiles: Profiles
  /** A hash of the content: it changes when the text changes. */
  readonly etag: string
}

export interface ProfilesChange {
  /** Returns the new text. It may throw to refuse the change. */
  readonly edit: (file: ProfilesFile) => string
  /** Renews the trust: a file that the gateway itself wrote into a trusted home stays trusted. */
  readonly onWritten: (change: { readonly before: Buffer | undefined; readonly after: Buffer }) => Promise<void>
  /** Called with the final content, even if nothing had to be written. */
  readonly onSettled?: (file: ProfilesFile) => void
}

/** If another process writes at the same time, the change is retried this many times. */
const MAX_ATTEMPTS = 20
const BOM = '\ufeff'

/** Reads the profiles of a home. A missing file is empty. A file with an error throws, with the location. */
export async function readProfilesFile(home: string): Promise<ProfilesFile> {
  const path = join(home, 'profiles.json')
  return parseContent(path, await readHomeFile(path))
}

/** Replaces the file under a lock, and only if it was not changed in the meantime. */
export async function changeProfilesFile(home: string, change: ProfilesChange): Promise<ProfilesFile> {
  const path = join(home, 'profiles.json')
  try {
    makeFolder(dirname(path))
    return await withLockFile(resolveLockPath(path), async (isHeld) => {
      for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
        const written = await tryChange(path, change, isHeld)
        if (!written) continue
        // Still under the lock, so that the profiles that are applied last are those that were written last.
        change.onSettled?.(written)
        return written
      }
      throw unsafeError(path, 'other programs kept changing it while the gateway tried to write it')
    })
  } catch (error) {
    throw toUnsafeError(path, error)
  }
}

/** Returns `undefined` if another process changed the file first. */
async function tryChange(
  path: string,
  { edit, onWritten }: ProfilesChange,
  isHeld: () => Promise<boolean>,
): Promise<ProfilesFile | undefined> {
  const before = await readHomeFile(path)
  const now = parseContent(path, before)
  const mark = now.text.startsWith(BOM) ? BOM : ''
  const text = `${mark}${edit({ ...now, text: now.text.slice(mark.length) })}`
  if (text === now.text) return now
  const after = Buffer.from(text)
  if (after.length > maxHomeFileBytes(path))
    throw unsafeError(path, 'it would become larger than the largest file that is read')
  // Checked before it replaces a file that works.
  const verified = verifyContent(path, after)
  const isWanted = async (): Promise<boolean> => (await isHeld()) && isSameContent(await readHomeFile(path), before)
  if (!(await replaceFile(path, after, { isWanted }))) return undefined
  await onWritten({ before, after })
  return verified
}

function verifyContent(path: string, bytes: Buffer): ProfilesFile {
  try {
    return parseContent(path, bytes)
  } catch (cause) {
    if (!(cause instanceof SallyportError)) throw cause
    throw new SallyportError(
      'INVALID_PARAMS',
      `Nothing was written, because the result would not be valid: ${cause.message}`,
      { cause },
    )
  }
}

function parseContent(path: string, bytes: Buffer | undefined): ProfilesFile {
  const etag = createHash('sha256')
    .update(bytes ?? '')
    .digest('hex')
  if (bytes === undefined) return { path, text: '', profiles: new Map(), etag }
  const text = decodeUtf8(path, bytes)
  const { profiles, errors } = readProfiles(path, Buffer.from(text.startsWith(BOM) ? text.slice(1) : text))
  if (errors.length > 0) throw invalidFileError(path, errors)
  return { path, text, profiles, etag }
}

function decodeUtf8(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new SallyportError('CONFIG_INVALID', `${path} is not UTF-8 text.`, { hint: 'Save it as UTF-8.', cause })
  }
}

/** Turns a disk error into PROFILES_UNSAFE. Other errors are returned as they are. */
function toUnsafeError(path: string, error: unknown): unknown {
  const cause = error instanceof SallyportError && error.code === 'STATE_UNUSABLE' ? error.cause : error
  if (cause instanceof SallyportError || causeCode(cause) === '') return error
  return unsafeError(path, `it cannot be written: ${describeDiskError(cause)}`)
}

const unsafeError = (path: string, why: string): SallyportError =>
  new SallyportError('PROFILES_UNSAFE', `${path} is left as it is: ${why}.`, {
    hint: 'Correct that, then try again.',
  })
