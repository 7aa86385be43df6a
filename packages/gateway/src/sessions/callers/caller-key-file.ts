import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { dirname, join } from 'node:path'
import { isJsonObject, type Json, SallyportError } from '@sallyport/core'
import { hasKeyFolder, type KeyLocation, keysUnusable, openKeyFolder, readPrivateFile } from '@sallyport/kit/keys'
import { describeDiskError, removeStaleTempFiles, replaceFile, resolveLockPath, withLockFile } from '../../disk/disk.ts'
import { type CallerKey, isDue, type PrivateJwk, renewKeys } from './caller-key-set.ts'

const FILE_NAME = 'caller-keys.json'
const VERSION = 1
const BASE64URL_32 = /^[\w-]{43}$/

export interface CallerKeyFileOptions extends KeyLocation {
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
    openKeyFolder({ folder, notInside })
    const keys = readKeys(path)
    return isDue(keys, now()) ? await changeKeys(path, now) : keys
  } catch (cause) {
    if (cause instanceof SallyportError && cause.code === 'KEYS_UNUSABLE') throw cause
    const reason = cause instanceof SallyportError ? cause.message : `${describeDiskError(cause)}.`
    throw keysUnusable(`The keys for caller tokens in ${folder} cannot be used: ${reason}`, {
      hint: 'Make the folder writable for the user who runs Sallyport, or name another with SALLYPORT_KEYS.',
      cause,
    })
  }
}

/** How many keys there are, without creating any. Throws if they would be refused. */
export function countCallerKeys({ folder, notInside }: KeyLocation): number {
  return hasKeyFolder({ folder, notInside }) ? readKeys(callerKeyPath(folder)).length : 0
}

async function changeKeys(path: string, now: () => number): Promise<readonly CallerKey[]> {
  removeStaleTempFiles(dirname(path))
  for (;;) {
    const written = await withLockFile(resolveLockPath(path), async (isHeld) => {
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
    throw keysUnusable(`The file ${path} is not used: it ${file.problem}.`, {
      hint: `Check who wrote it. Remove it, and new keys are created; or restrict it: chmod 600 ${path}`,
    })
  if (file.state === 'exposed')
    throw keysUnusable(
      `The file ${path} is not used: other users can read it, and with its keys anybody could be named.`,
      {
        hint: `If nobody else can have read it, restrict it: chmod 600 ${path}. Otherwise remove it, and new keys are created.`,
      },
    )
  const keys = parseKeys(file.text)
  if (keys !== undefined) return keys
  throw keysUnusable(`The file ${path} does not contain keys for caller tokens.`, {
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
