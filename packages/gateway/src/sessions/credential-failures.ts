import { isLoopback, SallyportError, type SallyportEvent } from '@sallyport/core'

/** What was refused: a bearer token or JWT, the signature of a web hook, the code of a login link, or a browser's cookie. */
export type CredentialKind = 'token' | 'signature' | 'login' | 'cookie'

type RefusedEvent = Extract<SallyportEvent, { type: 'CREDENTIALS_REFUSED' }>

export interface CredentialFailuresOptions {
  readonly report: (event: RefusedEvent) => void
  readonly windowMs?: number
  readonly delayMs?: number
}

const WINDOW_MS = 60_000
const DELAY_MS = 1_000
/** Refusals per source and window that are answered without delay: a client with an old token tries a few times. */
const MAX_UNDELAYED = 10
/** Limit for delayed answers of all sources together. */
const MAX_DELAYED = 100
const MAX_SOURCES = 64
/** All sources above the limit share this name. */
const OTHERS = 'others'

interface Source {
  /** Failures in the current window. */
  count: number
  /** Failures that were not reported yet. */
  readonly unreported: Map<CredentialKind, number>
  timer: NodeJS.Timeout
}

/**
 * Counts refused credentials by source, and delays answers for sources that keep failing. Valid credentials are never
 * counted: a client that shares an address with an attacker is neither refused nor delayed.
 */
export class CredentialFailures {
  readonly #report: (event: RefusedEvent) => void
  readonly #windowMs: number
  readonly #delayMs: number
  readonly #sources = new Map<string, Source>()
  readonly #delayed = new Map<NodeJS.Timeout, () => void>()
  readonly #totals: Record<CredentialKind, number> = { token: 0, signature: 0, login: 0, cookie: 0 }

  constructor({ report, windowMs = WINDOW_MS, delayMs = DELAY_MS }: CredentialFailuresOptions) {
    this.#report = report
    this.#windowMs = windowMs
    this.#delayMs = delayMs
  }

  /** Failures since the start. */
  get totals(): Readonly<Record<CredentialKind, number>> {
    return this.#totals
  }

  /** Counts a failure. Resolves when it may be answered. Resolves with another error for the answer if too many are already delayed. */
  async penalize(address: string | undefined, kind: CredentialKind): Promise<SallyportError | undefined> {
    if (this.count(address, kind) <= MAX_UNDELAYED) return undefined
    if (this.#delayed.size >= MAX_DELAYED) return tooManyRefused()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#release(timer), this.#delayMs)
      this.#delayed.set(timer, resolve)
    })
    return undefined
  }

  /** Counts a failure without a delay. Returns the number of failures in this window. */
  count(address: string | undefined, kind: CredentialKind): number {
    this.#totals[kind] += 1
    const name = this.#sourceName(address)
    const source = this.#sources.get(name) ?? this.#open(name)
    source.count += 1
    source.unreported.set(kind, (source.unreported.get(kind) ?? 0) + 1)
    // The first failure is reported immediately, the others together at the end of the window.
    if (source.count === 1) this.#reportSource(name, source)
    return source.count
  }

  close(): void {
    for (const [name, source] of this.#sources) {
      clearTimeout(source.timer)
      this.#reportSource(name, source)
    }
    this.#sources.clear()
    for (const timer of [...this.#delayed.keys()]) this.#release(timer)
  }

  #release(timer: NodeJS.Timeout): void {
    clearTimeout(timer)
    this.#delayed.get(timer)?.()
    this.#delayed.delete(timer)
  }

  #sourceName(address: string | undefined): string {
    const name = toSourceName(address)
    return this.#sources.has(name) || this.#sources.size < MAX_SOURCES ? name : OTHERS
  }

  #open(name: string): Source {
    const source = { count: 0, unreported: new Map(), timer: this.#startWindow(name) }
    this.#sources.set(name, source)
    return source
  }

  #startWindow(name: string): NodeJS.Timeout {
    return setTimeout(() => this.#endWindow(name), this.#windowMs).unref()
  }

  /** A source that keeps failing gets a new window, so that it is reported once per window. */
  #endWindow(name: string): void {
    const source = this.#sources.get(name)
    if (source === undefined) return
    if (!this.#reportSource(name, source)) return void this.#sources.delete(name)
    source.count = 1
    source.timer = this.#startWindow(name)
  }

  #reportSource(source: string, { unreported }: Source): boolean {
    if (unreported.size === 0) return false
    const kinds = Object.fromEntries(unreported)
    unreported.clear()
    const count = Object.values(kinds).reduce((sum, failures) => sum + failures, 0)
    this.#report({ type: 'CREDENTIALS_REFUSED', source, count, kinds })
    return true
  }
}

/** All loopback addresses are one source, since there are sixteen million. So is each /64 of IPv6, since one host usually has a whole /64. */
function toSourceName(address: string | undefined): string {
  if (address === undefined) return 'socket'
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (isLoopback(plain)) return 'loopback'
  return plain.includes(':') ? `${ipv6Network(plain)}::/64` : plain
}

function ipv6Network(address: string): string {
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? []
  const groups = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups.length - last.length) }, () => '0')
  return [...groups, ...zeros, ...last].slice(0, 4).join(':')
}

const tooManyRefused = (): SallyportError =>
  new SallyportError('RATE_LIMITED', 'Too many credentials from this address were refused.', {
    hint: 'Try again later, with a credential that is valid.',
  })

/** For answers with status 429. */
export const RETRY_AFTER_SECONDS = WINDOW_MS / 1_000
