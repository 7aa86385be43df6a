import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { causeCode, describeDiskError, lockPathOf, makeFolder, replaceFile, withLockFile } from '../../disk/disk.ts'
import { maxHomeFileBytes, readHomeFile } from '../home/home-content.ts'
import { invalidFileError } from '../load-settings.ts'
import type { Profiles } from '../settings.ts'
import { readProfiles } from './profiles.ts'

/** profiles.json as it stands on the disk. */
export interface ProfilesFile {
  readonly path: string
  readonly text: string
  readonly profiles: Profiles
  /** Another text has another one. */
  readonly etag: string
}

export interface ProfilesChange {
  /** The text that is wanted in place of this one. It may refuse by throwing. */
  readonly edit: (file: ProfilesFile) => string
  /** The state that the change is meant for, where it is meant for one alone. */
  readonly etag?: string | undefined
  /** What we wrote ourselves into a trusted home stays trusted. */
  readonly onWritten: (change: { readonly before: Buffer | undefined; readonly after: Buffer }) => Promise<void>
  /** What the file says now, whether or not it had to be written for that. */
  readonly onSettled?: (file: ProfilesFile) => void
}

/** Somebody else may write at the same time: then it is read again, so often. */
const MAX_ATTEMPTS = 20
const BOM = '\ufeff'

/** The profiles of a home. A file that is not there says nothing; one with a mistake is an error with its place. */
export async function readProfilesFile(home: string): Promise<ProfilesFile> {
  const path = join(home, 'profiles.json')
  return parseContent(path, await readHomeFile(path))
}

/** Replaces the file, under a lock and only if nobody changed it meanwhile. */
export async function changeProfilesFile(home: string, change: ProfilesChange): Promise<ProfilesFile> {
  const path = join(home, 'profiles.json')
  try {
    makeFolder(dirname(path))
    return await withLockFile(lockPathOf(path), async (isHeld) => {
      for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
        const written = await tryChange(path, change, isHeld)
        if (!written) continue
        // While nobody else can write: what is put in force last is what was written last.
        change.onSettled?.(written)
        return written
      }
      throw unsafeError(path, 'it was changed again and again while it was to be written')
    })
  } catch (error) {
    throw toUnsafeError(path, error)
  }
}

/** Nothing when somebody else was quicker. */
async function tryChange(
  path: string,
  { edit, etag, onWritten }: ProfilesChange,
  isHeld: () => Promise<boolean>,
): Promise<ProfilesFile | undefined> {
  const before = await readHomeFile(path)
  const now = parseContent(path, before)
  if (etag !== undefined && etag !== now.etag) throw conflictError(path)
  const mark = now.text.startsWith(BOM) ? BOM : ''
  const text = `${mark}${edit({ ...now, text: now.text.slice(mark.length) })}`
  if (text === now.text) return now
  const after = Buffer.from(text)
  if (after.length > maxHomeFileBytes(path)) throw unsafeError(path, 'it would become larger than what is read of it')
  // Proven before it takes the place of a file that works.
  const wanted = verifyContent(path, after)
  const isWanted = async (): Promise<boolean> => (await isHeld()) && isSameContent(await readHomeFile(path), before)
  if (!(await replaceFile(path, after, { isWanted }))) return undefined
  await onWritten({ before, after })
  return wanted
}

function verifyContent(path: string, bytes: Buffer): ProfilesFile {
  try {
    return parseContent(path, bytes)
  } catch (cause) {
    if (!(cause instanceof SallyportError)) throw cause
    throw new SallyportError(
      'INVALID_PARAMS',
      `Nothing was written, since this could not be read again: ${cause.message}`,
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

const isSameContent = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.equals(b))

const conflictError = (path: string): SallyportError =>
  new SallyportError('PROFILES_CHANGED', `${path} was changed after it was read; nothing was written.`, {
    hint: 'Read it again, then make the change on top of what stands there now.',
  })

/** What the disk refused is a reason to leave the file alone; anything else is what it is. */
function toUnsafeError(path: string, error: unknown): unknown {
  const cause = error instanceof SallyportError && error.code === 'STATE_UNUSABLE' ? error.cause : error
  if (cause instanceof SallyportError || causeCode(cause) === '') return error
  return unsafeError(path, `it cannot be written: ${describeDiskError(cause)}`)
}

const unsafeError = (path: string, why: string): SallyportError =>
  new SallyportError('PROFILES_UNSAFE', `${path} is left as it is: ${why}.`, {
    hint: 'Put that right, then try again.',
  })
