/** A text in one spelling, and where each of its characters comes from. */
export interface DecodedText {
  readonly text: string
  /** One more than there are characters: the last is the end. */
  readonly sourceOffsets: Uint32Array
}

const BACKSLASH = 0x5c
const PERCENT = 0x25
const AMPERSAND = 0x26
const LINE_FEED = 0x0a
const ESCAPED_CONTROLS: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09, b: 0x08, f: 0x0c }
/** By which pages escape what has a meaning in HTML, and `&amp;` what was escaped before. */
const ENTITY = /&(?:amp;)*(?:#(\d{1,5});|#x([0-9a-f]{1,4});|(lt|gt|quot|apos|amp);)/iy
const NAMED_ENTITIES: Readonly<Record<string, number>> = { lt: 0x3c, gt: 0x3e, quot: 0x22, apos: 0x27, amp: AMPERSAND }
const HEX4 = /^[0-9a-f]{4}$/i
const HEX2 = /^[0-9a-f]{2}$/i

/**
 * The bytes that a text stands for, each as one character, whatever it was escaped by: JSON, JSON within JSON, a URL, a
 * form, a page. Backslashes are left out. Two texts that are escapes of the same one come out the same. Takes time linear in the text.
 */
export function decodeText(text: string): DecodedText {
  const out = new DecodedOutput(text.length)
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at = decodeEscape(text, at, out)
    else if (code === PERCENT) at = decodePercent(text, at, out)
    else if (code === AMPERSAND) at = decodeEntity(text, at, out)
    else at = out.pushCharacter(text, at, at)
  }
  return out.finish(text.length)
}

/** Any number of backslashes, and what they escape: further in, JSON within JSON has more of them. */
function decodeEscape(text: string, start: number, out: DecodedOutput): number {
  let at = start
  while (text.charCodeAt(at) === BACKSLASH) at++
  const digits = text.slice(at + 1, at + 5)
  if (text[at] === 'u' && HEX4.test(digits)) return out.pushCodeUnit(Number.parseInt(digits, 16), start, at + 5)
  const control = ESCAPED_CONTROLS[text[at] ?? '']
  if (control !== undefined) return out.pushByte(control, start, at + 1)
  return at < text.length ? out.pushCharacter(text, at, start) : at
}

/** `%41`, and `%2541`, which is the same encoded once more. */
function decodePercent(text: string, start: number, out: DecodedOutput): number {
  let at = start + 1
  while (text.startsWith('25', at) && HEX2.test(text.slice(at + 2, at + 4))) at += 2
  const digits = text.slice(at, at + 2)
  return HEX2.test(digits)
    ? out.pushByte(Number.parseInt(digits, 16), start, at + 2)
    : out.pushByte(PERCENT, start, start + 1)
}

function decodeEntity(text: string, start: number, out: DecodedOutput): number {
  ENTITY.lastIndex = start
  const [whole, decimal, hex, name = ''] = ENTITY.exec(text) ?? []
  if (whole === undefined) return out.pushByte(AMPERSAND, start, start + 1)
  const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : NAMED_ENTITIES[name.toLowerCase()]
  return out.pushCodeUnit(code ?? AMPERSAND, start, start + whole.length)
}

/** With the letter by which each control character is escaped: of a backslash that was encoded nobody knows what it escapes. */
export const spellOutControls = ({ text, sourceOffsets }: DecodedText): DecodedText => ({
  text: text.replaceAll(/[\n\r\t\b\f]/g, (control) => CONTROL_LETTERS[control] as string),
  sourceOffsets,
})

const CONTROL_LETTERS: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' }

/** For what is in base64: without the ends of its lines, and in one alphabet. */
export function normalizeBase64({ text, sourceOffsets }: DecodedText): DecodedText {
  const out = new DecodedOutput(text.length)
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === LINE_FEED || code === 0x0d) continue
    out.pushByte(code === 0x2d ? 0x2b : code === 0x5f ? 0x2f : code, sourceOffsets[at] as number, 0)
  }
  return out.finish(sourceOffsets[text.length] as number)
}

class DecodedOutput {
  readonly #bytes: Buffer
  readonly #from: Uint32Array
  #length = 0

  constructor(characters: number) {
    this.#bytes = Buffer.allocUnsafe(characters * 3)
    this.#from = new Uint32Array(characters * 3 + 1)
  }

  /** Returns where to go on. */
  pushByte(code: number, start: number, next: number): number {
    if (code === BACKSLASH) return next
    // A form has a plus in the place of a blank.
    this.#bytes[this.#length] = code === 0x20 ? 0x2b : code
    this.#from[this.#length] = start
    this.#length++
    return next
  }

  pushCharacter(text: string, at: number, start: number): number {
    return this.pushCodeUnit(text.charCodeAt(at), start, at + 1)
  }

  /** A half of a surrogate pair counts by itself: the two halves may be escaped one by one. */
  pushCodeUnit(code: number, start: number, next: number): number {
    if (code < 0x80) return this.pushByte(code, start, next)
    if (code < 0x800) this.pushByte(0xc0 | (code >> 6), start, next)
    else {
      this.pushByte(0xe0 | (code >> 12), start, next)
      this.pushByte(0x80 | ((code >> 6) & 0x3f), start, next)
    }
    return this.pushByte(0x80 | (code & 0x3f), start, next)
  }

  finish(at: number): DecodedText {
    this.#from[this.#length] = at
    return {
      text: this.#bytes.toString('latin1', 0, this.#length),
      sourceOffsets: this.#from.slice(0, this.#length + 1),
    }
  }
}
