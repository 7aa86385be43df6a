import type { Principal } from '@sallyport/core'
import { osUser } from './os-user.ts'
import { digest, type RandomBytes, randomBytes, randomSecret } from './secret.ts'

export interface LoginsOptions {
  readonly now?: () => number
  readonly randomBytes?: RandomBytes
}

export const COOKIE_NAME = 'sallyport'

const CODE_LIFE_MS = 10 * 60_000
const IDLE_LIFE_MS = 12 * 3_600_000
const MAX_CODES = 16
const MAX_SESSIONS = 64

const SECRET = /^[A-Za-z0-9_-]{43}$/

export function createLogins(options: LoginsOptions = {}): Logins {
  return new Logins(options)
}

/** One-time login links and the browser sessions they open. Kept in memory: a restart logs everybody out. */
export class Logins {
  readonly #now: () => number
  readonly #randomBytes: RandomBytes
  readonly #principal: Principal
  readonly #codes: Expiring
  readonly #sessions: Expiring

  constructor(options: LoginsOptions) {
    this.#now = options.now ?? Date.now
    this.#randomBytes = options.randomBytes ?? randomBytes
    this.#principal = Object.freeze({
      user: osUser(),
      agent: 'any',
      profile: 'default',
      session: 'operator',
      role: 'operator',
    })
    this.#codes = new Expiring(MAX_CODES)
    this.#sessions = new Expiring(MAX_SESSIONS)
  }

  /** The secret part of a login link; good once, for ten minutes. */
  mintLoginCode(): string {
    return this.#mint(this.#codes, CODE_LIFE_MS)
  }

  /** Trades a code for the value of a session cookie. */
  redeem(code: string): string | undefined {
    if (!SECRET.test(code) || !this.#codes.take(digest(code), this.#now())) return undefined
    return this.#mint(this.#sessions, IDLE_LIFE_MS)
  }

  /** The operator, when the Cookie header carries a living session; that use keeps it alive. */
  verifyCookie(header: string | undefined): Principal | undefined {
    const key = sessionKey(header)
    if (key === undefined || !this.#sessions.take(key, this.#now())) return undefined
    this.#sessions.put(key, this.#now() + IDLE_LIFE_MS)
    return this.#principal
  }

  logout(header: string | undefined): void {
    const key = sessionKey(header)
    if (key !== undefined) this.#sessions.take(key, this.#now())
  }

  #mint(into: Expiring, lifeMs: number): string {
    const secret = randomSecret(this.#randomBytes)
    into.put(digest(secret), this.#now() + lifeMs)
    return secret
  }
}

/** The Set-Cookie value that opens a session. Strict: a link on another site must not arrive logged in. */
export function sessionCookie(value: string): string {
  return `${COOKIE_NAME}=${value}; HttpOnly; SameSite=Strict; Path=/`
}

/** The Set-Cookie value that makes the browser forget it. */
export function clearedCookie(): string {
  return `${COOKIE_NAME}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`
}

/** Keys that count until a time; the one put longest ago gives way when there are too many. */
class Expiring {
  readonly #limit: number
  readonly #until = new Map<string, number>()

  constructor(limit: number) {
    this.#limit = limit
  }

  put(key: string, until: number): void {
    const oldest = this.#until.size >= this.#limit ? this.#until.keys().next() : undefined
    if (oldest?.done === false) this.#until.delete(oldest.value)
    this.#until.set(key, until)
  }

  /** Removes the key; true when it still counted. */
  take(key: string, now: number): boolean {
    const until = this.#until.get(key)
    this.#until.delete(key)
    return until !== undefined && now < until
  }
}

/** Two cookies of our name mean that another page of this host planted one (cookies know no ports): neither counts. */
function sessionKey(header: string | undefined): string | undefined {
  if (header === undefined || header.length > 8192) return undefined
  const ours = header.split('; ').filter((pair) => pair.trimStart().startsWith(`${COOKIE_NAME}=`))
  const value = ours.length === 1 ? ours[0]?.slice(COOKIE_NAME.length + 1) : undefined
  return value !== undefined && SECRET.test(value) ? digest(value) : undefined
}
