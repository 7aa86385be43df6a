import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readPrivateFile } from '@sallyport/kit/keys'
import { causeCode } from '../disk/disk.ts'
import type { Credential } from './credential.ts'
import { digest } from './secret.ts'
import { parseStandingToken, STANDING_ROLES, type StandingRole, standingPrincipal } from './standing-token.ts'
import { credentialFromRecord, isTokenId, parseStoredToken, type TokenRecord } from './token-record.ts'

/** A valid token, identified only by the digest of its text. */
export interface LocalToken {
  readonly sha256: string
  readonly credential: Credential
  /** Only for minted tokens. */
  readonly record: TokenRecord | undefined
}

/** `incomplete`: something could not be read now, and the scan should be repeated. */
export type ScanOutcome = 'same' | 'changed' | 'incomplete'

interface Entry {
  /** If `undefined`, the file is read again at the next scan. */
  readonly stamp: string | undefined
  readonly token: LocalToken | undefined
  readonly problem: string | undefined
}

/** The files of `tokens/` at the last scan. A file is valid only if it belongs to us, is closed to others and is complete. */
export class TokenFolder {
  readonly path: string
  readonly #onWarning: (text: string) => void
  #entries: ReadonlyMap<string, Entry> = new Map()
  #problem: string | undefined

  constructor(path: string, onWarning: (text: string) => void) {
    this.path = path
    this.#onWarning = onWarning
  }

  tokens(): readonly LocalToken[] {
    return [...this.#entries.values()].flatMap(({ token }) => token ?? [])
  }

  /** Reads the files that changed since the last scan. */
  scan(): ScanOutcome {
    const names = this.#list()
    if (names === undefined) return 'incomplete'
    const entries = new Map<string, Entry>()
    for (const name of names) {
      const stamp = readStamp(join(this.path, name))
      if (stamp !== undefined) entries.set(name, this.#entry(name, stamp))
    }
    const before = this.#entries
    this.#entries = entries
    if ([...entries.values()].some((entry) => entry.stamp === undefined)) return 'incomplete'
    return sameEntries(before, entries) ? 'same' : 'changed'
  }

  /** A missing folder has no tokens. If the folder cannot be read now (too many open files), the known tokens stay valid. */
  #list(): readonly string[] | undefined {
    try {
      const names = readdirSync(this.path).filter(isTokenFile)
      this.#problem = undefined
      return names
    } catch (error) {
      const problem = causeCode(error)
      if (problem !== this.#problem) this.#onWarning(`The token folder ${this.path} cannot be read (${problem}).`)
      this.#problem = problem
      return problem === 'ENOENT' || problem === 'ENOTDIR' ? [] : undefined
    }
  }

  #entry(name: string, stamp: string): Entry {
    const known = this.#entries.get(name)
    if (known?.stamp === stamp && stamp !== UNSTAMPED) return known
    const entry = loadEntry(join(this.path, name), name, stamp)
    if (entry.problem !== undefined && entry.problem !== known?.problem)
      this.#onWarning(`The token file ${join(this.path, name)} ${entry.problem}.`)
    return entry
  }
}

function loadEntry(path: string, name: string, stamp: string): Entry {
  const role = STANDING_ROLES.find((known) => known === name)
  const file = readPrivateFile(path, role === undefined ? 'close' : 'leave')
  if (file.state === 'absent') return { stamp, token: undefined, problem: undefined }
  if ('problem' in file)
    return file.state === 'refused'
      ? refusedEntry(stamp, file.problem)
      : { ...refusedEntry('', file.problem), stamp: undefined }
  if (role === undefined) return mintedEntry(file.text, idOf(name), { stamp, exposed: file.state === 'exposed' })
  if (file.state === 'exposed')
    return refusedEntry(stamp, 'could be read by other users; restart the gateway to create a new one')
  return standingEntry(file.text, role, stamp)
}

/** Other users may know the digest, but it is useless to them: restricting the file's mode is enough. */
function mintedEntry(text: string, id: string, found: { readonly stamp: string; readonly exposed: boolean }): Entry {
  const stored = parseStoredToken(text, id)
  if (stored === undefined) return refusedEntry(found.stamp, 'is not a token record of this version')
  const { record, sha256 } = stored
  const problem = found.exposed ? 'could be read by other users; it is closed to them now' : undefined
  return { stamp: found.stamp, token: { sha256, credential: credentialFromRecord(record), record }, problem }
}

function standingEntry(text: string, role: StandingRole, stamp: string): Entry {
  const token = parseStandingToken(text, role)
  if (token === undefined) return refusedEntry(stamp, 'does not hold a token')
  const credential = { principal: standingPrincipal(role), expiresAt: Number.POSITIVE_INFINITY }
  return { stamp, token: { sha256: digest(token), credential, record: undefined }, problem: undefined }
}

const refusedEntry = (stamp: string, problem: string): Entry => ({
  stamp,
  token: undefined,
  problem: `${problem}: refused`,
})

const isTokenFile = (name: string): boolean =>
  (name.endsWith('.json') && isTokenId(idOf(name))) || STANDING_ROLES.some((role) => role === name)

const idOf = (name: string): string => name.slice(0, -'.json'.length)

/** Changes whenever the file, its permissions or its content change. It is read before the content, so that a later change is noticed. */
function readStamp(path: string): string | undefined {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    return stats && `${stats.dev}:${stats.ino}:${stats.ctimeNs}:${stats.mtimeNs}:${stats.size}`
  } catch {
    return UNSTAMPED
  }
}

/** Stamp of a file that cannot be inspected now; reading it gives the reason. */
const UNSTAMPED = ''

function sameEntries(a: ReadonlyMap<string, Entry>, b: ReadonlyMap<string, Entry>): boolean {
  return a.size === b.size && [...a].every(([name, entry]) => b.get(name) === entry)
}
