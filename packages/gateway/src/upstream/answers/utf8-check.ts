import { isUtf8 } from 'node:buffer'

const EMPTY = Buffer.alloc(0)

/** Checks whether bytes that arrive in pieces are UTF-8. A character may be split between pieces. */
export class Utf8Check {
  #valid = true
  /** The beginning of a character whose rest is still to come. */
  #cut: Buffer = EMPTY

  feed(piece: Buffer): void {
    if (!this.#valid) return
    const from = this.#cut.length === 0 ? 0 : this.#complete(piece)
    if (this.#cut.length > 0 || !this.#valid) return
    const end = findWholeEnd(piece, from)
    this.#valid = isUtf8(piece.subarray(from, end))
    if (end < piece.length) this.#cut = Buffer.from(piece.subarray(end))
  }

  /** Call after the last piece. */
  end(): boolean {
    return this.#valid && this.#cut.length === 0
  }

  /** Adds the missing bytes of the split character, and returns how many there were. */
  #complete(piece: Buffer): number {
    const length = characterLength(this.#cut[0] as number)
    const taken = Math.min(length - this.#cut.length, piece.length)
    const character = Buffer.concat([this.#cut, piece.subarray(0, taken)])
    if (character.length < length) this.#cut = character
    else {
      this.#valid = isUtf8(character)
      this.#cut = EMPTY
    }
    return taken
  }
}

/** Where the last whole character ends; the up to three bytes after it begin an incomplete one. */
function findWholeEnd(piece: Buffer, from: number): number {
  for (let at = piece.length - 1; at >= from && at >= piece.length - 3; at--) {
    const byte = piece[at] as number
    if (byte < 0x80) return piece.length
    if (byte >= 0xc0) return at + characterLength(byte) > piece.length ? at : piece.length
  }
  return piece.length
}

function characterLength(lead: number): number {
  if (lead >= 0xf0) return 4
  return lead >= 0xe0 ? 3 : 2
}
