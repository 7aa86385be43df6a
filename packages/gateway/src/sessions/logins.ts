import { ExpiringMap, type Principal } from '@sallyport/core'
import { digest, type RandomBytes, randomBytes, randomSecret } from './secret.ts'
import { standingPrincipal } from './standing-token.ts'

export interface LoginsOptions {
  readonly now?: () => number
  readonly randomBytes?: RandomBytes
}

const COOKIE_NAME = 'sallyport'

const CODE_TTL_MS = 10 * 60_000
const IDLE_TIMEOUT_MS = 12 * 3_600_000
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
  readonly #codes: ExpiringMap<'login'>
  readonly #sessions: ExpiringMap<Principal>

  constructor(options: LoginsOptions) {
    this.#now = options.now ?? Date.now
    this.#randomBytes = options.randomBytes ?? randomBytes
    this.#codes = new ExpiringMap(MAX_CODES, this.#now)
    this.#sessions = new ExpiringMap(MAX_SESSIONS, this.#now)
  }

  /** The secret part of a login link; good once, for ten minutes. */
  mintLoginCode(): string {
    const code = randomSecret(this.#randomBytes)
    this.#codes.put(digest(code), 'login', this.#now() + CODE_TTL_MS)
    return code
  }

  /** Trades a code for the value of a session cookie. */
  redeem(code: string): string | undefined {
    if (!SECRET.test(code) || this.#codes.take(digest(code)) === undefined) return undefined
    const value = randomSecret(this.#randomBytes)
    this.#sessions.put(digest(value), standingPrincipal('operator'), this.#now() + IDLE_TIMEOUT_MS)
    return value
  }

  /** Whether the Cookie header carries a session that is over, or never was. */
  isStale(header: string | undefined): boolean {
    return header?.includes(`${COOKIE_NAME}=`) === true && this.verifyCookie(header) === undefined
  }

  /** The operator, when the Cookie header carries a living session; that use keeps it alive. */
  verifyCookie(header: string | undefined): Principal | undefined {
    const key = sessionKey(header)
    const principal = key === undefined ? undefined : this.#sessions.get(key)
    if (key === undefined || principal === undefined) return undefined
    this.#sessions.put(key, principal, this.#now() + IDLE_TIMEOUT_MS)
    return principal
  }

  logout(header: string | undefined): void {
    const key = sessionKey(header)
    if (key !== undefined) this.#sessions.take(key)
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

/** Two cookies of our name mean that another page of this host planted one (cookies know no ports): neither counts. */
function sessionKey(header: string | undefined): string | undefined {
  if (header === undefined || header.length > 8192) return undefined
  const ours = header.split('; ').filter((pair) => pair.trimStart().startsWith(`${COOKIE_NAME}=`))
  const value = ours.length === 1 ? ours[0]?.slice(COOKIE_NAME.length + 1) : undefined
  return value !== undefined && SECRET.test(value) ? digest(value) : undefined
}
