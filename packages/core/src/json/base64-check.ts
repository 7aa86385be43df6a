// What a character of a base64 text is.
const OTHER = 0
const DIGIT = 1
const PAD = 2
const BLANK = 3

const KINDS = kindsOf()

/** Tells whether a text is base64 as `atob` takes it, as it arrives: blanks anywhere, padding or none. */
export class Base64Check {
  #digits = 0
  #pads = 0
  #isBroken = false

  reset(): void {
    this.#digits = 0
    this.#pads = 0
    this.#isBroken = false
  }

  /** Takes what are plain digits from there on, and returns where they end: nearly all of a text is one run of them. */
  skipDigits(chunk: Uint8Array, from: number): number {
    if (this.#pads > 0) return from
    const end = digitsEnd(chunk, from)
    this.#digits += end - from
    return end
  }

  /** A run of bytes without escapes. */
  feed(chunk: Uint8Array, from: number, end: number): void {
    for (let at = from; at < end; at++) this.add(chunk[at] as number)
  }

  /** One character, such as an escape that was decoded. */
  add(code: number): void {
    const kind = code < KINDS.length ? (KINDS[code] as number) : OTHER
    if (kind === DIGIT && this.#pads === 0) this.#digits++
    else if (kind === PAD) this.#pads++
    else if (kind !== BLANK) this.#isBroken = true
  }

  get isValid(): boolean {
    if (this.#isBroken || this.#digits % 4 === 1) return false
    return this.#pads === 0 || (this.#pads < 3 && (this.#digits + this.#pads) % 4 === 0)
  }
}

function kindsOf(): Uint8Array {
  const kinds = new Uint8Array(256)
  for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
    kinds[char.charCodeAt(0)] = DIGIT
  for (const char of ' \t\n\f\r') kinds[char.charCodeAt(0)] = BLANK
  kinds['='.charCodeAt(0)] = PAD
  return kinds
}

function digitsEnd(chunk: Uint8Array, from: number): number {
  const kinds = KINDS
  let at = from
  // Four at a time, as texts are read.
  for (const last = chunk.length - 3; at < last; at += 4) {
    const a = kinds[chunk[at] as number] as number
    const b = kinds[chunk[at + 1] as number] as number
    const c = kinds[chunk[at + 2] as number] as number
    const d = kinds[chunk[at + 3] as number] as number
    if ((a & b & c & d) !== DIGIT || (a | b | c | d) !== DIGIT) break
  }
  while (at < chunk.length && kinds[chunk[at] as number] === DIGIT) at++
  return at
}
