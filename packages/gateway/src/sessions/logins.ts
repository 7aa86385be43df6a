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

/** One-time login links and the browser sessions they open. They are only in memory: a restart logs everybody out. */
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

  /** The secret part of a login link; valid once, for ten minutes. */
  mintLoginCode(): string {
    const code = randomSecret(this.#randomBytes)
    this.#codes.put(digest(code), 'login', this.#now() + CODE_TTL_MS)
    return code
  }

  /** Exchanges a code for the value of a session cookie; `undefined` if the code is not valid. */
  redeem(code: string): string | undefined {
    if (!SECRET.test(code) || this.#codes.take(digest(code)) === undefined) return undefined
    const value = randomSecret(this.#randomBytes)
    this.#sessions.put(digest(value), standingPrincipal('operator'), this.#now() + IDLE_TIMEOUT_MS)
    return value
  }

  /** Whether the Cookie header has a session that has ended or never existed. */
  isStale(header: string | undefined): boolean {
    return header?.includes(`${COOKIE_NAME}=`) === true && this.verifyCookie(header) === undefined
  }

  /** Whether the Cookie header has a valid session. This does not extend the session. */
  hasSession(header: string | undefined): boolean {
    const key = sessionKey(header)
    return key !== undefined && this.#sessions.get(key) !== undefined
  }

  /** The operator, if the Cookie header has a valid session. Each use extends the session. */
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

/** The Set-Cookie value that opens a session. `SameSite=Strict`, so that a link on another site does not send it. */
export function sessionCookie(value: string): string {
  return `${COOKIE_NAME}=${value}; HttpOnly; SameSite=Strict; Path=/`
}

/** The Set-Cookie value that removes the cookie from the browser. */
export function clearedCookie(): string {
  return `${COOKIE_NAME}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`
}

/** Two cookies with our name mean that another server on this host set one (cookies ignore ports): neither is accepted. */
function sessionKey(header: string | undefined): string | undefined {
  if (header === undefined || header.length > 8192) return undefined
  const ours = header.split('; ').filter((pair) => pair.trimStart().startsWith(`${COOKIE_NAME}=`))
  const value = ours.length === 1 ? ours[0]?.slice(COOKIE_NAME.length + 1) : undefined
  return value !== undefined && SECRET.test(value) ? digest(value) : undefined
}
