import { SallyportError } from '@sallyport/core'

export interface BodyBudgetOptions {
  /** What all bodies that are still coming in may weigh, in bytes. */
  readonly total: () => number
  /** The same for those of one caller. */
  readonly share: () => number
  /** How long a body may be silent. */
  readonly stallMs?: number
}

/** The part of one body. */
export interface BodyClaim {
  /** Says why these bytes must not be kept, if they must not. */
  take(bytes: number): SallyportError | undefined
  /** The body is complete or given up. */
  end(): void
}

interface OpenBody {
  readonly onStall: (error: SallyportError) => void
  quietChecks: number
}

const STALL_MS = 5_000
const CHECKS = 5

/** Bounds the memory of request bodies on their way in: of all together, and of one caller. Ends those that stall. */
export class BodyBudget {
  readonly #options: BodyBudgetOptions
  /** Bytes by caller; who has none is not in it. */
  readonly #held = new Map<string, number>()
  readonly #open = new Set<OpenBody>()
  #sum = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  open(owner: string, onStall: (error: SallyportError) => void): BodyClaim {
    const body: OpenBody = { onStall, quietChecks: 0 }
    let own = 0
    this.#open.add(body)
    this.#timer ??= setInterval(() => this.#check(), (this.#options.stallMs ?? STALL_MS) / CHECKS).unref()
    return {
      take: (bytes) => {
        body.quietChecks = 0
        const refused = this.#refusalOf(owner, bytes)
        if (refused !== undefined) return refused
        own += bytes
        this.#add(owner, bytes)
        return undefined
      },
      end: () => {
        if (!this.#open.delete(body)) return
        this.#add(owner, -own)
        if (this.#open.size > 0) return
        clearInterval(this.#timer)
        this.#timer = undefined
      },
    }
  }

  #refusalOf(owner: string, bytes: number): SallyportError | undefined {
    const { share, total } = this.#options
    if ((this.#held.get(owner) ?? 0) + bytes > share())
      return new SallyportError(
        'RATE_LIMITED',
        `Requests of this caller that are still coming in exceed ${share()} bytes.`,
        {
          hint: 'Send fewer large requests at the same time.',
        },
      )
    if (this.#sum + bytes <= total()) return undefined
    return new SallyportError('OVERLOADED', `Requests that are still coming in exceed ${total()} bytes.`, {
      hint: 'Try again in a moment.',
    })
  }

  #add(owner: string, bytes: number): void {
    this.#sum += bytes
    const held = (this.#held.get(owner) ?? 0) + bytes
    if (held > 0) this.#held.set(owner, held)
    else this.#held.delete(owner)
  }

  #check(): void {
    for (const body of [...this.#open]) {
      body.quietChecks += 1
      if (body.quietChecks > CHECKS) body.onStall(stalled())
    }
  }
}

const stalled = (): SallyportError =>
  new SallyportError('BODY_STALLED', 'Nothing more of the body came for several seconds.', {
    hint: 'Send the whole body at once.',
  })

/** In seconds, for who asked while too much was coming in. */
export const RETRY_AFTER: Readonly<Record<string, string>> = { 'retry-after': '1' }
