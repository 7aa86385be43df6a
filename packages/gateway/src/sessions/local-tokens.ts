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
  /** The state folder; the tokens are in `tokens/` of it. */
  readonly state: string
  readonly now?: () => number
  readonly randomBytes?: RandomBytes
  /** A token file that is refused, or was open to others. The text names the file, never what is in it. */
  readonly onWarning?: (text: string) => void
}

export interface MintRequest {
  readonly agent: string
  readonly profile: string
  /** The OS user, unless said otherwise. */
  readonly user?: string
  /** A session of the token's own, unless said otherwise. */
  readonly session?: string
  readonly ttlMs?: number
  /** Selectors that narrow what the profile selects, for this token alone. */
  readonly tools?: readonly string[]
  /** A person sits in front of the client that it is for. */
  readonly attended?: boolean
}

export interface MintedToken {
  /** The clear text: shown once, kept nowhere. */
  readonly token: string
  readonly record: TokenRecord
}

const TOKEN_PATTERN = /^sp[ao]_[\w-]{43}$/
/** How often a stranger's token may make us look at the folder. */
const MIN_RESCAN_MS = 500

/** Throws STATE_UNUSABLE when the folder cannot be made or is not ours. */
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

/** The tokens of this machine. Files are the truth, so that another process can mint and revoke too. */
export class LocalTokens {
  readonly #options: Required<LocalTokensOptions>
  readonly #folder: TokenFolder
  readonly #watch: FolderWatch
  readonly #listeners = new Set<() => void>()
  #bySha256: ReadonlyMap<string, LocalToken> = new Map()
  /** Those that were minted: each call asks for its own. */
  #byId: ReadonlyMap<string, LocalToken> = new Map()
  #scannedAt = Number.NEGATIVE_INFINITY

  constructor(options: Required<LocalTokensOptions>) {
    this.#options = options
    this.#folder = new TokenFolder(join(options.state, 'tokens'), options.onWarning)
    // Watched before the first reading: a change between the two must not be missed.
    this.#watch = new FolderWatch(this.#folder.path, () => this.#scan())
    this.#scan()
    this.#sweep()
  }

  /** The token counts, and is on disk, when this resolves. */
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

  /** The minted tokens that count, oldest first. */
  list(): readonly TokenRecord[] {
    this.#scan()
    const now = this.#options.now()
    return [...this.#bySha256.values()]
      .filter(({ credential }) => now < credential.expiresAt)
      .flatMap(({ record }) => record ?? [])
      .sort((one, other) => Date.parse(one.created) - Date.parse(other.created))
  }

  /** False when there is no such token. It is gone for good when this resolves. */
  async revoke(id: string): Promise<boolean> {
    if (!isTokenId(id)) return false
    const removed = await wrapStateErrors(this.#folder.path, () => removeFile(this.#pathOf(id)))
    this.#scan()
    return removed
  }

  /** Whom the token speaks for. Only digests are compared, so that timing tells nothing about a token. */
  verify(text: string): Credential | undefined {
    if (!TOKEN_PATTERN.test(text)) return undefined
    const sha256 = digest(text)
    const now = this.#options.now()
    if (!this.#bySha256.has(sha256) && now - this.#scannedAt >= MIN_RESCAN_MS) this.#scan()
    const credential = this.#bySha256.get(sha256)?.credential
    return credential !== undefined && now < credential.expiresAt ? credential : undefined
  }

  /** Whether the minted token of this id was neither revoked nor has expired. */
  isValid(id: string): boolean {
    const token = this.#byId.get(id)
    return token !== undefined && this.#options.now() < token.credential.expiresAt
  }

  /** Told whenever a token came or went. Returns the unsubscribe. */
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

  /** Launches leave short-lived tokens behind; nobody else would remove them. */
  #sweep(): void {
    const now = this.#options.now()
    for (const { record, credential } of this.#bySha256.values()) {
      if (record === undefined || now < credential.expiresAt) continue
      try {
        unlinkSync(this.#pathOf(record.id))
      } catch {
        // An expired token harms nobody while it stays.
      }
    }
  }

  #pathOf(id: string): string {
    return join(this.#folder.path, `${id}.json`)
  }
}

/** What fails in the folder of the tokens is STATE_UNUSABLE. */
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
      hint: 'A text of 1 to 256 printable characters is expected.',
    })
  }
  if (tools !== undefined && !areSelectors(tools))
    throw new SallyportError('INVALID_PARAMS', 'The tools of a token are not a list of selectors.', {
      hint: 'A list of texts such as "github/search" is expected; an empty one leaves no tool.',
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
  throw new SallyportError('INVALID_PARAMS', `A token cannot live for ${ttlMs} ms.`, {
    hint: 'Give a positive time such as 8h, or none for a token that lives until it is revoked.',
  })
}
