import { type Envelope, EnvelopeNotes } from './envelope.ts'

/** What nobody needs and some readers choke on. */
const MAX_DEPTH = 128
const MAX_SCALAR = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

// What may come next.
const VALUE = 0
const VALUE_OR_CLOSE = 1
const KEY = 2
const KEY_OR_CLOSE = 3
const AFTER_KEY = 4
const AFTER_VALUE = 5
const IN_STRING = 6
const IN_SCALAR = 7
const DONE = 8

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const HEX = /^[0-9a-fA-F]{4}$/

/**
 * Reads JSON text as it arrives, in pieces of any size, and keeps nothing of it.
 *
 * It proves that the text is one well-formed JSON value and tells where the parts of a JSON-RPC envelope stand, so that
 * an answer can be passed on as bytes with another id, without being parsed and printed again.
 */
export class JsonScanner {
  /** Why the text is not acceptable; the first reason stays. */
  failure: string | undefined

  readonly #notes = new EnvelopeNotes()
  readonly #maxDepth: number
  #state = VALUE
  #offset = 0
  #depth = 0
  readonly #inObject: boolean[] = []
  #members = 0
  #lineBreaks = false
  #isKey = false
  #escape = ''
  #scalar = ''
  #text = ''
  #keep = 0

  constructor(maxDepth: number = MAX_DEPTH) {
    this.#maxDepth = maxDepth
  }

  feed(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length && this.failure === undefined) {
      at = this.#state === IN_STRING ? this.#string(chunk, at) : this.#structure(chunk, at)
    }
    this.#offset += chunk.length
  }

  /** Call after the last chunk. */
  end(): Envelope | undefined {
    if (this.failure === undefined && this.#state === IN_SCALAR) this.#endScalar(this.#offset)
    if (this.failure === undefined && this.#state !== DONE) this.#fail('the text ends too early')
    if (this.failure !== undefined) return undefined
    return this.#notes.envelope({ bytes: this.#offset, hasLineBreaks: this.#lineBreaks, members: this.#members })
  }

  #fail(reason: string): void {
    this.failure ??= `${reason} (near byte ${this.#offset})`
  }

  #structure(chunk: Uint8Array, from: number): number {
    let at = from
    for (; at < chunk.length && this.failure === undefined; at++) {
      const byte = chunk[at] as number
      if (byte === QUOTE) {
        this.#beginString(this.#offset + at)
        return at + 1
      }
      if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) {
        if (this.#state === IN_SCALAR) this.#endScalar(this.#offset + at)
        if (byte === 0x0a || byte === 0x0d) this.#lineBreaks = true
      } else this.#token(byte, this.#offset + at)
    }
    return at
  }

  #token(byte: number, place: number): void {
    const ends = byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY
    if (ends && this.#state === IN_SCALAR) this.#endScalar(place)
    if (this.failure !== undefined) return
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open(byte === OPEN_OBJECT, place)
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#close(byte === CLOSE_OBJECT, place)
    else if (byte === COMMA) this.#after(AFTER_VALUE, this.#inObject[this.#depth - 1] ? KEY : VALUE)
    else if (byte === COLON) this.#after(AFTER_KEY, VALUE)
    else this.#scalarByte(byte, place)
  }

  #after(expected: number, next: number): void {
    if (this.#state === expected) this.#state = next
    else this.#fail('an unexpected "," or ":"')
  }

  #takesValue(): boolean {
    return this.#state === VALUE || this.#state === VALUE_OR_CLOSE
  }

  #scalarByte(byte: number, place: number): void {
    if (this.#state === IN_SCALAR && this.#scalar.length < MAX_SCALAR) this.#scalar += String.fromCharCode(byte)
    else if (this.#state === IN_SCALAR) this.#fail(`a number of more than ${MAX_SCALAR} digits`)
    else if (this.#takesValue()) {
      this.#notes.beginValue(this.#depth, place)
      this.#state = IN_SCALAR
      this.#scalar = String.fromCharCode(byte)
    } else this.#fail(`an unexpected ${JSON.stringify(String.fromCharCode(byte))}`)
  }

  #endScalar(place: number): void {
    if (!SCALAR.test(this.#scalar)) {
      this.#fail('a value that is no JSON')
      return
    }
    this.#notes.scalar(this.#parentIsObject() ? this.#depth : 0, this.#scalar)
    this.#endValue(place)
  }

  #open(object: boolean, place: number): void {
    if (!this.#takesValue()) this.#fail('an unexpected opening bracket')
    else if (this.#depth === this.#maxDepth) this.#fail(`nested deeper than ${this.#maxDepth}`)
    else {
      this.#notes.beginValue(this.#depth, place)
      this.#inObject[this.#depth++] = object
      this.#notes.beginNested(this.#depth)
      this.#state = object ? KEY_OR_CLOSE : VALUE_OR_CLOSE
    }
  }

  #close(object: boolean, place: number): void {
    const closable = this.#state === AFTER_VALUE || this.#state === (object ? KEY_OR_CLOSE : VALUE_OR_CLOSE)
    if (!closable || this.#depth === 0 || this.#parentIsObject() !== object) {
      this.#fail('an unexpected closing bracket')
      return
    }
    this.#depth--
    this.#endValue(place + 1)
  }

  #parentIsObject(): boolean {
    return this.#inObject[this.#depth - 1] === true
  }

  #endValue(place: number): void {
    this.#state = this.#depth === 0 ? DONE : AFTER_VALUE
    if (this.#depth === 1 && this.#inObject[0]) this.#notes.endValue(place)
  }

  #beginString(place: number): void {
    this.#isKey = this.#state === KEY || this.#state === KEY_OR_CLOSE
    if (!this.#isKey && !this.#takesValue()) {
      this.#fail('an unexpected text')
      return
    }
    this.#text = ''
    this.#keep = this.#notes.keepLimit(this.#depth, this.#isKey)
    if (!this.#isKey) this.#notes.beginValue(this.#depth, place)
    this.#state = IN_STRING
  }

  #string(chunk: Uint8Array, from: number): number {
    let at = from
    while (at < chunk.length) {
      if (this.#escape !== '') {
        this.#escapeByte(chunk[at++] as number)
        if (this.failure !== undefined) return at
        continue
      }
      const run = at
      let byte = chunk[at] as number
      while (byte !== QUOTE && byte !== BACKSLASH && byte >= 0x20 && ++at < chunk.length) byte = chunk[at] as number
      this.#keepRun(chunk, run, at)
      if (at === chunk.length) return at
      at++
      if (byte === QUOTE) {
        this.#endString(this.#offset + at)
        return at
      }
      if (byte === BACKSLASH) this.#escape = '\\'
      else this.#fail('a control character inside a text')
      if (this.failure !== undefined) return at
    }
    return at
  }

  /** Only short texts near the top can matter; of all others nothing is kept. */
  #keeps(): boolean {
    return this.#text.length <= this.#keep && this.#keep > 0
  }

  #keepRun(chunk: Uint8Array, start: number, end: number): void {
    if (start === end || !this.#keeps()) return
    this.#text += latin1(chunk.subarray(start, Math.min(end, start + this.#keep + 1)))
  }

  #escapeByte(byte: number): void {
    const char = String.fromCharCode(byte)
    if (this.#escape === '\\' && char !== 'u') {
      this.#escape = ''
      if (!'"\\/bfnrt'.includes(char)) this.#fail('an unknown escape inside a text')
      else if (this.#keeps()) this.#text += JSON.parse(`"\\${char}"`) as string
      return
    }
    this.#escape = this.#escape === '\\' ? 'u' : this.#escape + char
    if (this.#escape.length < 5) return
    const digits = this.#escape.slice(1)
    this.#escape = ''
    if (!HEX.test(digits)) this.#fail('a broken \\u escape inside a text')
    else if (this.#keeps()) this.#text += String.fromCharCode(Number.parseInt(digits, 16))
  }

  #endString(place: number): void {
    if (!this.#isKey) {
      if (this.#parentIsObject()) this.#notes.text(this.#depth, this.#text)
      this.#endValue(place)
      return
    }
    this.#members++
    this.#state = AFTER_KEY
    if (!this.#notes.key(this.#depth, this.#text)) this.#fail(`the key "${this.#text}" stands twice`)
  }
}

const latin1 = (bytes: Uint8Array): string => String.fromCharCode.apply(undefined, bytes as unknown as number[])
