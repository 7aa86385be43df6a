import { SallyportError } from '@sallyport/core'

export interface BodyBudgetOptions {
  /** The maximum total size, in bytes, of all bodies that are being received. */
  readonly maxTotalBytes: () => number
  /** The same for the bodies of one caller. */
  readonly maxBytesPerOwner: () => number
  /** How long a body may make no progress. */
  readonly stallTimeoutMs?: number
}

/** The share of one body in the budget. */
export interface BodyReservation {
  /** Reserves bytes. Returns an error if a limit would be exceeded. */
  reserve(bytes: number): SallyportError | undefined
  /** Releases the bytes: the body is complete or abandoned. */
  release(): void
}

interface OpenBody {
  readonly onStall: (error: SallyportError) => void
  quietChecks: number
}

const STALL_TIMEOUT_MS = 5_000
const CHECKS_PER_TIMEOUT = 5

/** Limits the memory of request bodies that are being received: in total and per caller. Ends those that stall. */
export class BodyBudget {
  readonly #options: BodyBudgetOptions
  /** Bytes by caller, without callers that have none. */
  readonly #bytesByOwner = new Map<string, number>()
  readonly #open = new Set<OpenBody>()
  #totalBytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  open(owner: string, onStall: (error: SallyportError) => void): BodyReservation {
    const body: OpenBody = { onStall, quietChecks: 0 }
    let own = 0
    this.#open.add(body)
    this.#timer ??= setInterval(
      () => this.#checkStalls(),
      (this.#options.stallTimeoutMs ?? STALL_TIMEOUT_MS) / CHECKS_PER_TIMEOUT,
    ).unref()
    return {
      reserve: (bytes) => {
        body.quietChecks = 0
        const refused = this.#checkLimits(owner, bytes)
        if (refused !== undefined) return refused
        own += bytes
        this.#add(owner, bytes)
        return undefined
      },
      release: () => {
        if (!this.#open.delete(body)) return
        this.#add(owner, -own)
        if (this.#open.size > 0) return
        clearInterval(this.#timer)
        this.#timer = undefined
      },
    }
  }

  #checkLimits(owner: string, bytes: number): SallyportError | undefined {
    const { maxBytesPerOwner, maxTotalBytes } = this.#options
    if ((this.#bytesByOwner.get(owner) ?? 0) + bytes > maxBytesPerOwner())
      return new SallyportError(
        'RATE_LIMITED',
        `Requests of this caller that are still coming in exceed ${maxBytesPerOwner()} bytes.`,
        {
          hint: 'Send fewer large requests at the same time.',
        },
      )
    if (this.#totalBytes + bytes <= maxTotalBytes()) return undefined
    return new SallyportError('OVERLOADED', `Requests that are still coming in exceed ${maxTotalBytes()} bytes.`, {
      hint: 'Try again in a moment.',
    })
  }

  #add(owner: string, bytes: number): void {
    this.#totalBytes += bytes
    const held = (this.#bytesByOwner.get(owner) ?? 0) + bytes
    if (held > 0) this.#bytesByOwner.set(owner, held)
    else this.#bytesByOwner.delete(owner)
  }

  #checkStalls(): void {
    for (const body of [...this.#open]) {
      body.quietChecks += 1
      if (body.quietChecks > CHECKS_PER_TIMEOUT) body.onStall(stallError())
    }
  }
}

const stallError = (): SallyportError =>
  new SallyportError('BODY_STALLED', 'No more of the body arrived for several seconds.', {
    hint: 'Send the whole body at once.',
  })

/** In seconds, for callers that were refused because of this budget. */
export const RETRY_AFTER_HEADERS: Readonly<Record<string, string>> = { 'retry-after': '1' }
