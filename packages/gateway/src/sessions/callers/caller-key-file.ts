import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { existsSync, lstatSync, realpathSync, type Stats } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { isJsonObject, type Json, SallyportError } from '@sallyport/core'
import {
  causeCode,
  describeDiskError,
  lockPathOf,
  makeFolder,
  removeStaleTempFiles,
  replaceFile,
  withLockFile,
} from '../../disk/disk.ts'
import { readPrivateFile } from '../private-file.ts'
import { type CallerKey, isDue, type PrivateJwk, renewKeys } from './caller-key-set.ts'

const FILE_NAME = 'caller-keys.json'
const VERSION = 1
const BASE64URL_32 = /^[\w-]{43}$/

export interface CallerKeyFileOptions {
  readonly folder: string
  /** The folders that must not contain the keys, because they are copied and backed up: the state and the home. */
  readonly notInside: readonly string[]
  readonly now: () => number
}

/** Where the keys are. */
export const callerKeyPath = (folder: string): string => join(folder, FILE_NAME)

/**
 * The keys of a folder, oldest first. Creates the first one, adds the next one in time, and removes old ones. Gateways
 * that do that at once end up with one set: only the holder of a lock writes, and it reads again first.
 */
export async function openCallerKeys(options: CallerKeyFileOptions): Promise<readonly CallerKey[]> {
  const { folder, notInside, now } = options
  const path = callerKeyPath(folder)
  try {
    checkLocation(folder, notInside)
    makeFolder(folder)
    checkFolder(folder)
    const keys = readKeys(path)
    return isDue(keys, now()) ? await changeKeys(path, now) : keys
  } catch (cause) {
    if (cause instanceof SallyportError && cause.code === 'KEYS_UNUSABLE') throw cause
    const reason = cause instanceof SallyportError ? cause.message : `${describeDiskError(cause)}.`
    throw unusable(`The keys for caller tokens in ${folder} cannot be used: ${reason}`, {
      hint: 'Make the folder writable for the user who runs Sallyport, or name another with SALLYPORT_KEYS.',
      cause,
    })
  }
}

/** How many keys there are, without creating any. Throws if they would be refused. */
export function countCallerKeys({ folder, notInside }: Omit<CallerKeyFileOptions, 'now'>): number {
  checkLocation(folder, notInside)
  if (!existsSync(folder)) return 0
  checkFolder(folder)
  return readKeys(callerKeyPath(folder)).length
}

async function changeKeys(path: string, now: () => number): Promise<readonly CallerKey[]> {
  removeStaleTempFiles(dirname(path))
  for (;;) {
    const written = await withLockFile(lockPathOf(path), async (isHeld) => {
      const keys = readKeys(path)
      if (!isDue(keys, now())) return keys
      const renewed = renewKeys(keys, now(), createKey)
      const isReplaced = await replaceFile(path, formatKeys(renewed), { mode: 0o600, isWanted: isHeld })
      return isReplaced ? renewed : undefined
    })
    if (written !== undefined) return written
  }
}

function createKey(signsFrom: number): CallerKey {
  const { kty, crv, x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as PrivateJwk
  const jwk = { kty, crv, x, d }
  return { kid: thumbprint(jwk), signsFrom, jwk }
}

const thumbprint = ({ crv, kty, x }: PrivateJwk): string =>
  createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url')

function formatKeys(keys: readonly CallerKey[]): string {
  const written = keys.map(({ kid, signsFrom, jwk }) => ({ kid, signsFrom: new Date(signsFrom).toISOString(), jwk }))
  return `${JSON.stringify({ version: VERSION, keys: written }, undefined, 2)}\n`
}

/** Empty if there is no file yet. */
function readKeys(path: string): readonly CallerKey[] {
  const file = readPrivateFile(path, 'leave')
  if (file.state === 'absent') return []
  if ('problem' in file)
    throw unusable(`The file ${path} is not used: it ${file.problem}.`, {
      hint: `Check who wrote it. Remove it, and new keys are created; or restrict it: chmod 600 ${path}`,
    })
  if (file.state === 'exposed')
    throw unusable(`The file ${path} is not used: other users can read it, and with its keys anybody could be named.`, {
      hint: `If nobody else can have read it, restrict it: chmod 600 ${path}. Otherwise remove it, and new keys are created.`,
    })
  const keys = parseKeys(file.text)
  if (keys !== undefined) return keys
  throw unusable(`The file ${path} does not contain keys for caller tokens.`, {
    hint: 'Move it away, and new keys are created; or update Sallyport, if a newer version wrote it.',
  })
}

/** `undefined` if anything is unexpected: a newer version may have restricted a key with it. */
function parseKeys(text: string): readonly CallerKey[] | undefined {
  let content: Json
  try {
    content = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(content) || content.version !== VERSION || !Array.isArray(content.keys)) return undefined
  const keys = content.keys.map((entry) => parseKey(entry))
  return keys.length > 0 && keys.every((key) => key !== undefined)
    ? keys.toSorted((one, other) => one.signsFrom - other.signsFrom)
    : undefined
}

function parseKey(entry: Json): CallerKey | undefined {
  if (!isJsonObject(entry) || !isJsonObject(entry.jwk)) return undefined
  const { kty, crv, x, d } = entry.jwk
  const signsFrom = typeof entry.signsFrom === 'string' ? Date.parse(entry.signsFrom) : Number.NaN
  const isSound = kty === 'OKP' && crv === 'Ed25519' && [x, d].every(isBase64Url) && !Number.isNaN(signsFrom)
  const known = Object.keys(entry).length === 3 && Object.keys(entry.jwk).length === 4
  if (!isSound || !known) return undefined
  const jwk = { kty, crv, x, d } as PrivateJwk
  return entry.kid === thumbprint(jwk) && fits(jwk) ? { kid: entry.kid, signsFrom, jwk } : undefined
}

const isBase64Url = (value: Json | undefined): boolean => typeof value === 'string' && BASE64URL_32.test(value)

/** Whether the public part belongs to the private one. Otherwise no server could verify a token. */
function fits(jwk: PrivateJwk): boolean {
  const publicKey = createPublicKey(createPrivateKey({ key: { ...jwk }, format: 'jwk' }))
  return publicKey.export({ format: 'jwk' }).x === jwk.x
}

function checkFolder(folder: string): void {
  const stats: Stats = lstatSync(folder)
  // Windows has no owners and modes that could be checked here.
  const user = process.getuid?.()
  if (user === undefined) return
  if (stats.isSymbolicLink())
    throw unusable(`The folder ${folder} is a symbolic link.`, {
      hint: 'Name the folder itself with SALLYPORT_KEYS.',
    })
  if (stats.uid !== user)
    throw unusable(`The folder ${folder} belongs to the user with id ${stats.uid}; Sallyport runs as ${user}.`, {
      hint: `Name a folder of your own with SALLYPORT_KEYS, or change the owner: chown -R ${user} ${folder}`,
    })
  if ((stats.mode & 0o077) !== 0)
    throw unusable(`The folder ${folder} is open to other users (mode ${(stats.mode & 0o777).toString(8)}).`, {
      hint: `Restrict it: chmod 700 ${folder}`,
    })
}

function checkLocation(folder: string, notInside: readonly string[]): void {
  const real = realPath(folder)
  const around = notInside.find((outer) => !/^\.\.(\/|$)/.test(relative(realPath(outer), real)))
  if (around === undefined) return
  throw unusable(`The folder for keys, ${folder}, is inside ${around}.`, {
    hint: 'Name a folder outside of the state and of the home with SALLYPORT_KEYS: those are copied and backed up.',
  })
}

/** The path behind all links, also of a folder that does not exist yet. */
function realPath(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync(absolute)
  } catch (cause) {
    const parent = dirname(absolute)
    if (causeCode(cause) !== 'ENOENT' || parent === absolute) return absolute
    return join(realPath(parent), basename(absolute))
  }
}

const unusable = (message: string, details: { readonly hint: string; readonly cause?: unknown }): SallyportError =>
  new SallyportError('KEYS_UNUSABLE', message, details)
