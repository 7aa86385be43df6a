import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { getOsUser, isPrintableName } from '@sallyport/kit/identity'
import { makePrivateFolder, removeFile, removeStaleTempFiles, replaceFile, stateUnusable } from '../disk/disk.ts'
import type { Credential } from './credential.ts'
import { FolderWatch } from './folder-watch.ts'
import { digest, type RandomBytes, randomBytes, randomSecret } from './secret.ts'
import { ensureStandingToken, STANDING_ROLES, TOKEN_PREFIX } from './standing-token.ts'
import { type LocalToken, TokenFolder } from './token-folder.ts'
import { areSelectors, formatStoredToken, isTokenId, type TokenRecord } from './token-record.ts'

export interface LocalTokensOptions {
  /** The state folder; tokens are in its sub-folder `tokens/`. */
  readonly state: string
  readonly now?: () => number
  readonly randomBytes?: RandomBytes
  /** Called for a token file that is refused or was open to others. The text contains the path, never the content. */
  readonly onWarning?: (text: string) => void
}

export interface MintRequest {
  readonly agent: string
  readonly profile: string
  /** The OS user if missing. */
  readonly user?: string
  /** A new session if missing. */
  readonly session?: string
  readonly ttlMs?: number
  /** Selectors that narrow the profile's selection, only for this token. */
  readonly tools?: readonly string[]
  /** A person uses the client interactively. */
  readonly attended?: boolean
}

export interface MintedToken {
  /** The clear text: shown once, not stored. */
  readonly token: string
  readonly record: TokenRecord
}

const TOKEN_PATTERN = /^sp[ao]_[\w-]{43}$/
/** Minimum time between two scans that unknown tokens cause. */
const MIN_RESCAN_MS = 500

/** Throws STATE_UNUSABLE if the folder cannot be created or belongs to another user. */
export async function openLocalTokens(options: LocalTokensOptions): Promise<LocalTokens> {
  const folder = join(options.state, 'tokens')
  const onWarning = options.onWarning ?? (() => {})
  const random = options.randomBytes ?? randomBytes
  await wrapStateErrors(folder, async () => {
    const warning = makePrivateFolder(folder)
    if (warning !== undefined) onWarning(warning)
    removeStaleTempFiles(folder)
    for (const role of STANDING_ROLES) await ensureStandingToken(role, { folder, randomBytes: random, onWarning })
  })
  return new LocalTokens({ ...options, now: options.now ?? Date.now, randomBytes: random, onWarning })
}

/** The tokens of this machine. The files are the source of truth, so another process can mint and revoke tokens, too. */
export class LocalTokens {
  readonly #options: Required<LocalTokensOptions>
  readonly #folder: TokenFolder
  readonly #watch: FolderWatch
  readonly #listeners = new Set<() => void>()
  #bySha256: ReadonlyMap<string, LocalToken> = new Map()
  /** The minted tokens: each call checks its own. */
  #byId: ReadonlyMap<string, LocalToken> = new Map()
  #scannedAt = Number.NEGATIVE_INFINITY

  constructor(options: Required<LocalTokensOptions>) {
    this.#options = options
    this.#folder = new TokenFolder(join(options.state, 'tokens'), options.onWarning)
    // Watch before the first scan, so that no change in between is missed.
    this.#watch = new FolderWatch(this.#folder.path, () => this.#scan())
    this.#scan()
    this.#sweep()
  }

  /** When this resolves, the token is valid and on disk. */
  async mint(request: MintRequest): Promise<MintedToken> {
    const id = Buffer.from(this.#options.randomBytes(8)).toString('hex')
    const record = createRecord(id, request, this.#options.now())
    const token = `${TOKEN_PREFIX.agent}${randomSecret(this.#options.randomBytes)}`
    this.#sweep()
    const text = formatStoredToken({ record, sha256: digest(token) })
    await replaceFile(this.#pathOf(id), text, { mode: 0o600 })
    this.#scan()
    return { token, record }
  }

  /** The valid minted tokens, oldest first. */
  list(): readonly TokenRecord[] {
    this.#scan()
    const now = this.#options.now()
    return [...this.#bySha256.values()]
      .filter(({ credential }) => now < credential.expiresAt)
      .flatMap(({ record }) => record ?? [])
      .sort((a, b) => Date.parse(a.created) - Date.parse(b.created))
  }

  /** Returns false if there is no such token. When this resolves, the token is removed for good. */
  async revoke(id: string): Promise<boolean> {
    if (!isTokenId(id)) return false
    const removed = await wrapStateErrors(this.#folder.path, () => removeFile(this.#pathOf(id)))
    this.#scan()
    return removed
  }

  /** The credential of a token; `undefined` if it is not valid. Only digests are compared, so timing reveals no information about a token. */
  verify(text: string): Credential | undefined {
    if (!TOKEN_PATTERN.test(text)) return undefined
    const sha256 = digest(text)
    const now = this.#options.now()
    if (!this.#bySha256.has(sha256) && now - this.#scannedAt >= MIN_RESCAN_MS) this.#scan()
    const credential = this.#bySha256.get(sha256)?.credential
    return credential !== undefined && now < credential.expiresAt ? credential : undefined
  }

  /** Whether the minted token with this id is neither revoked nor expired. */
  isValid(id: string): boolean {
    const token = this.#byId.get(id)
    return token !== undefined && this.#options.now() < token.credential.expiresAt
  }

  /** Calls the listener whenever a token was added or removed. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#watch.close()
    this.#listeners.clear()
  }

  #scan(): void {
    this.#scannedAt = this.#options.now()
    const outcome = this.#folder.scan()
    if (outcome === 'incomplete') this.#watch.recheckSoon()
    if (outcome === 'same') return
    const tokens = this.#folder.tokens()
    this.#bySha256 = new Map(tokens.map((token) => [token.sha256, token]))
    this.#byId = new Map(tokens.flatMap((token) => (token.record ? [[token.record.id, token] as const] : [])))
    for (const listener of this.#listeners) listener()
  }

  /** Removes expired tokens: launches leave short-lived tokens, and nothing else would remove them. */
  #sweep(): void {
    const now = this.#options.now()
    for (const { record, credential } of this.#bySha256.values()) {
      if (record === undefined || now < credential.expiresAt) continue
      try {
        unlinkSync(this.#pathOf(record.id))
      } catch {
        // An expired token does no harm.
      }
    }
  }

  #pathOf(id: string): string {
    return join(this.#folder.path, `${id}.json`)
  }
}

/** Converts errors of the token folder to STATE_UNUSABLE. */
async function wrapStateErrors<Result>(folder: string, action: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await action()
  } catch (cause) {
    throw stateUnusable(folder, cause)
  }
}

function createRecord(id: string, request: MintRequest, now: number): TokenRecord {
  const { agent, profile, user = getOsUser(), session = `token:${id}`, ttlMs, tools, attended } = request
  for (const [name, value] of Object.entries({ agent, profile, user, session })) {
    if (isPrintableName(value)) continue
    throw new SallyportError('INVALID_PARAMS', `The ${name} of a token is ${JSON.stringify(value)?.slice(0, 80)}.`, {
      hint: 'A string of 1 to 256 printable characters is expected.',
    })
  }
  if (tools !== undefined && !areSelectors(tools))
    throw new SallyportError('INVALID_PARAMS', 'The tools of a token are not a list of selectors.', {
      hint: 'A list of strings such as "github/search" is expected; an empty list selects no tool.',
    })
  const created = new Date(now).toISOString()
  const record: TokenRecord = {
    ...{ id, agent, profile, user, session, created },
    ...(tools && { tools }),
    ...(attended && { attended }),
  }
  return ttlMs === undefined ? record : { ...record, expires: computeExpiry(now, ttlMs) }
}

function computeExpiry(now: number, ttlMs: number): string {
  const expires = new Date(now + ttlMs)
  if (ttlMs > 0 && !Number.isNaN(expires.getTime())) return expires.toISOString()
  throw new SallyportError('INVALID_PARAMS', `A token cannot be valid for ${ttlMs} ms.`, {
    hint: 'Give a positive duration such as 8h, or none for a token that is valid until it is revoked.',
  })
}
