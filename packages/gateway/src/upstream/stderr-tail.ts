import { cutText, maskSecrets, toPlainText } from '@sallyport/core'
import type { CredentialFilter } from './answers/credential-filter.ts'

export interface StderrTailOptions {
  readonly lines?: number
  /** A longer line is cut. */
  readonly lineLength?: number
  /** Secrets that no line may show, as `listSecretForms` returns them. */
  readonly secrets?: readonly string[]
  /** Removes the server's credentials in all their encodings. */
  readonly filter?: CredentialFilter | undefined
}

/** Enough to find the line that says why a process died. */
const PROCESS_LINES = 40
const LINE_FEED = 0x0a
const MAX_BYTES_PER_CHARACTER = 4

const KEY_BEGINS = /-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----\s*$/
/** A line of base64, with any prefix of a logger if it is long; or a header, or an empty line. */
const KEY_LINE =
  /(?:^|\s)[A-Za-z0-9+/]{40,76}={0,2}\s*$|^\s*[A-Za-z0-9+/]{0,76}={0,2}\s*$|^(?:Proc-Type|DEK-Info|Version|Comment): /

/**
 * The last lines that a server wrote to stderr. It never makes the server wait, and costs one scan of each byte at
 * most: in one chunk only the lines that can still be among the last are decoded, and the others are counted.
 */
export class StderrTail {
  readonly #limit: number
  readonly #lineLength: number
  readonly #secrets: readonly string[]
  readonly #filter: CredentialFilter | undefined
  readonly #lines: string[] = []
  #written = 0
  /** The incomplete last line, as bytes: a character may be split between chunks. */
  #open: Buffer | undefined
  #openUsed = 0
  /** Within a private key, whose single lines do not show that they are secret. */
  #inKey = false

  constructor(options: StderrTailOptions = {}) {
    this.#limit = options.lines ?? 100
    this.#lineLength = options.lineLength ?? 2_000
    this.#secrets = options.secrets ?? []
    this.#filter = options.filter
  }

  /** An empty one for a single process, which hides the same secrets. */
  forProcess(): StderrTail {
    return new StderrTail({ lines: PROCESS_LINES, secrets: this.#secrets, filter: this.#filter })
  }

  /** How many lines were begun so far, retained or not. */
  get written(): number {
    return this.#written + (this.#openUsed > 0 ? 1 : 0)
  }

  /** How many lines were dropped. */
  get dropped(): number {
    return this.#written - this.#lines.length
  }

  push(chunk: Buffer): void {
    let from = this.#skip(chunk)
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, from)
      this.#extend(chunk.subarray(from, end < 0 ? chunk.length : end))
      if (end < 0) return
      this.#endLine()
      from = end + 1
    }
  }

  /** Ends the open line: the process that wrote it is gone. */
  end(): void {
    if (this.#openUsed > 0) this.#endLine()
    this.#open = undefined
  }

  /** A text about the same server, without the secrets that its lines must not show. */
  mask(text: string): string {
    return maskSecrets(this.#filter?.redact(text) ?? text, this.#secrets)
  }

  /** Oldest first, safe to print. The first one says how many earlier lines were dropped, if any. */
  tail(): readonly string[] {
    const shown = (this.#openUsed > 0 ? [...this.#lines, this.#openText()] : this.#lines).slice(-this.#limit)
    const missing = this.written - shown.length
    return missing > 0 ? [`… ${missing} earlier lines were dropped`, ...shown] : shown
  }

  /** Skips the lines of a chunk that cannot be among the last, and returns where the others begin. */
  #skip(chunk: Buffer): number {
    let from = chunk.length
    for (let lines = 0; lines <= this.#limit; lines++) {
      from = from === 0 ? -1 : chunk.lastIndexOf(LINE_FEED, from - 1)
      if (from < 0) return 0
    }
    for (let at = 0; at <= from; at++) if (chunk[at] === LINE_FEED) this.#written++
    this.#lines.length = 0
    this.#openUsed = 0
    return from + 1
  }

  #extend(part: Buffer): void {
    if (part.length === 0) return
    this.#open ??= Buffer.allocUnsafeSlow(this.#lineLength * MAX_BYTES_PER_CHARACTER + 1)
    this.#openUsed += part.copy(this.#open, this.#openUsed)
  }

  #endLine(): void {
    this.#lines.push(this.#openText())
    this.#inKey = this.#isKey(this.#openLine())
    this.#openUsed = 0
    this.#written++
    if (this.#lines.length > this.#limit) this.#lines.shift()
  }

  #openLine(): string {
    return this.#open?.toString('utf8', 0, this.#openUsed) ?? ''
  }

  /** Whether the key continues after this line. */
  #isKey(line: string): boolean {
    return KEY_BEGINS.test(line) || (this.#inKey && KEY_LINE.test(line))
  }

  #openText(): string {
    const text = this.#openLine()
    if (this.#inKey && KEY_LINE.test(text)) return '[redacted: private key]'
    // Before it is cut: half a secret would not be recognized as one.
    return cutText(this.mask(toPlainText(text.endsWith('\r') ? text.slice(0, -1) : text)), this.#lineLength)
  }
}
