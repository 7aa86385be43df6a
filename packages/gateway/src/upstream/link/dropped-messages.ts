import type { SallyportEvent } from '@sallyport/core'

/** Why a message of a server was not passed on. */
const DROP_REASONS = {
  too_large: 'too large',
  too_many: 'too many',
  not_agreed: 'not agreed on by both sides',
  unmatched: 'not about any open request',
  invalid: 'invalid',
} as const

export type DropReason = keyof typeof DROP_REASONS

export type DropCounts = { readonly [reason in DropReason]?: number }

export interface DroppedMessagesOptions {
  readonly server: string
  readonly onEvent: (event: SallyportEvent) => void
}

/** It is recorded from this count on: fewer may be chance, such as progress that arrives after the answer. */
const MIN_RECORDED = 100

/**
 * Counts the messages of a server that were dropped. It logs and records at 1, 10, 100 and so on, so that a flood does
 * not fill the log.
 */
export class DroppedMessages {
  readonly #options: DroppedMessagesOptions
  readonly #counts: { [reason in DropReason]?: number } = {}

  constructor(options: DroppedMessagesOptions) {
    this.#options = options
  }

  get counts(): DropCounts {
    return { ...this.#counts }
  }

  /** The log line for this count, if one is due. */
  add(reason: DropReason): string | undefined {
    const count = (this.#counts[reason] ?? 0) + 1
    this.#counts[reason] = count
    if (!Number.isInteger(Math.log10(count))) return undefined
    const { server, onEvent } = this.#options
    if (count >= MIN_RECORDED) onEvent({ type: 'UPSTREAM_DROPPED', server, reason, count })
    return `${count} ${count === 1 ? 'message' : 'messages'} dropped so far: ${DROP_REASONS[reason]}`
  }
}
