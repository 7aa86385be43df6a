import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { isJsonObject, type Json, SallyportError } from '@sallyport/core'
import { replaceFile, stateUnusable, withLockFile } from '../../disk/disk.ts'
import type { Home } from './home.ts'
import { type HomeContent, type HomeFile, readHome, withFile } from './home-content.ts'

export type Trust = 'trusted' | 'untrusted' | 'changed'

export interface TrustQuery {
  readonly home: Home
  /** The content that will be used, so that nothing can change between the check and the use. */
  readonly content: Pick<HomeContent, 'digest'>
  /** The state folder. */
  readonly state: string
}

/** Only a home that was found in the working folder needs trust. Any other home was chosen by the operator. */
export async function checkTrust({ home, content, state }: TrustQuery): Promise<Trust> {
  if (home.origin !== 'project') return 'trusted'
  const recorded = (await readTrustFile(join(state, TRUST_FILE))).get(await canonicalPath(home.path))
  if (recorded === undefined) return 'untrusted'
  return recorded === content.digest ? 'trusted' : 'changed'
}

/** Throws HOME_UNTRUSTED if the home is not trusted. */
export async function requireTrust(query: TrustQuery): Promise<void> {
  const trust = await checkTrust(query)
  if (trust === 'trusted') return
  const { path } = query.home
  const what = trust === 'changed' ? 'has changed since it was trusted' : 'came with this folder and is not trusted'
  throw new SallyportError('HOME_UNTRUSTED', `The home ${path} ${what}.`, {
    hint: 'It can start programs in your name. Read its files, then run `sallyport trust`, or use your own home with --home.',
  })
}

/** Records that the operator trusts exactly these bytes. */
export async function recordTrust({ home, content, state }: TrustQuery): Promise<void> {
  const file = join(state, TRUST_FILE)
  const path = await canonicalPath(home.path)
  try {
    await withLockFile(`${file}.lock`, async () => {
      const homes = new Map(await readTrustFile(file)).set(path, content.digest)
      await replaceFile(file, `${JSON.stringify({ homes: [...homes] }, undefined, 2)}\n`, { mode: 0o600 })
    })
  } catch (cause) {
    throw stateUnusable(file, cause)
  }
}

/** Keeps a home trusted after the gateway itself wrote a file, if nothing else has changed. */
export async function renewTrust(
  { home, state }: Pick<TrustQuery, 'home' | 'state'>,
  name: HomeFile,
  { before, after }: { readonly before: Buffer | undefined; readonly after: Buffer },
): Promise<void> {
  if (home.origin !== 'project') return
  const now = await readHome(home.path)
  if ((await checkTrust({ home, state, content: withFile(now, name, before) })) !== 'trusted') return
  await recordTrust({ home, state, content: withFile(now, name, after) })
}

const TRUST_FILE = 'trusted-homes.json'

/** Two paths to the same folder are the same home. */
const canonicalPath = (path: string): Promise<string> => realpath(path).catch(() => path)

/** Maps paths to digests. An unreadable file means that no home is trusted. */
async function readTrustFile(file: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(file, 'utf8').catch(() => '')
  try {
    const record = JSON.parse(text) as Json
    const homes = isJsonObject(record) && Array.isArray(record.homes) ? record.homes : []
    return new Map(homes.filter(isPair))
  } catch {
    return new Map()
  }
}

function isPair(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string')
}
