/**
 * Reads JSON text as it arrives, in pieces of any size, and keeps nothing of it.
 *
 * It proves that the text is one well-formed JSON value and tells where the parts of a JSON-RPC envelope stand, so that
 * an answer can be passed on as bytes with another id, without being parsed and printed again.
 */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface Envelope {
  readonly bytes: number
  /** Where the value of the top-level `id` stands. */
  readonly id: Span | undefined
  /** The id itself, when it is a number: ours always are. */
  readonly numericId: number | undefined
  readonly result: Span | undefined
  readonly error: Span | undefined
  readonly hasMethod: boolean
  /** `result.isError` is true. */
  readonly isError: boolean
  /** `result.resultType`, when it is a plain text. */
  readonly resultType: string | undefined
  /** Line breaks between tokens: they must be blanked before the bytes go onto a line-framed stream. */
  readonly hasLineBreaks: boolean
  /** How many `key: value` members there are in all; more than the parsed value has means duplicate keys. */
  readonly members: number
}

const MAX_DEPTH = 128
const KEY_LIMIT = 32

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

const METHOD = 1
const ENVELOPE_KEYS: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  method: METHOD,
  id: 2,
  result: 4,
  error: 8,
  params: 16,
  jsonrpc: 32,
})

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const HEX = /^[0-9a-fA-F]{4}$/

export class JsonScanner {
  /** Why the text is not acceptable; the first reason stays. */
  failure: string | undefined

  #state = VALUE
  #offset = 0
  #depth = 0
  #inObject: boolean[] = []
  #members = 0
  #lineBreaks = false
  #isKey = false
  #escape = ''
  #scalar = ''
  #text = ''
  #topKey = ''
  #resultKey = ''
  #spans: { id?: Span; result?: Span; error?: Span } = {}
  #seenTopKeys = 0
  #valueStart = 0
  #numericId: number | undefined
  #isError = false
  #resultType: string | undefined

  feed(chunk: Uint8Array): void {
    if (this.failure !== undefined) return
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
    return {
      bytes: this.#offset,
      id: this.#spans.id,
      numericId: this.#numericId,
      result: this.#spans.result,
      error: this.#spans.error,
      hasMethod: (this.#seenTopKeys & METHOD) !== 0,
      isError: this.#isError,
      resultType: this.#resultType,
      hasLineBreaks: this.#lineBreaks,
      members: this.#members,
    }
  }

  #fail(reason: string): void {
    this.failure ??= `${reason} (near byte ${this.#offset})`
  }

  #structure(chunk: Uint8Array, from: number): number {
    let at = from
    for (; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) {
        if (this.#state === IN_SCALAR) this.#endScalar(this.#offset + at)
        if (byte === 0x0a || byte === 0x0d) this.#lineBreaks = true
        continue
      }
      if (byte === QUOTE) {
        this.#beginString(this.#offset + at)
        return at + 1
      }
      this.#token(byte, this.#offset + at)
      if (this.failure !== undefined) return at
    }
    return at
  }

  #token(byte: number, place: number): void {
    if (this.#state === IN_SCALAR && (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY))
      this.#endScalar(place)
    if (this.failure !== undefined) return
    switch (byte) {
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.#open(byte === OPEN_OBJECT, place)
        return
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        this.#close(byte === CLOSE_OBJECT, place)
        return
      case COMMA:
        if (this.#state !== AFTER_VALUE) this.#fail('unexpected ","')
        else this.#state = this.#inObject[this.#depth - 1] ? KEY : VALUE
        return
      case COLON:
        if (this.#state !== AFTER_KEY) this.#fail('unexpected ":"')
        else this.#state = VALUE
        return
      default:
        this.#scalarByte(byte, place)
    }
  }

  #scalarByte(byte: number, place: number): void {
    if (this.#state === IN_SCALAR) {
      if (this.#scalar.length >= 64) this.#fail('a number of more than 64 digits')
      this.#scalar += String.fromCharCode(byte)
    } else if (this.#state === VALUE || this.#state === VALUE_OR_CLOSE) {
      this.#beginValue(place)
      this.#state = IN_SCALAR
      this.#scalar = String.fromCharCode(byte)
    } else this.#fail(`unexpected ${JSON.stringify(String.fromCharCode(byte))}`)
  }

  #endScalar(place: number): void {
    if (!SCALAR.test(this.#scalar)) {
      this.#fail('a value that is no JSON')
      return
    }
    if (this.#depth === 2 && this.#topKey === 'result' && this.#resultKey === 'isError')
      this.#isError = this.#scalar === 'true'
    if (this.#depth === 1 && this.#topKey === 'id' && this.#inObject[0]) this.#numericId = Number(this.#scalar)
    this.#endValue(place)
  }

  #open(object: boolean, place: number): void {
    if (this.#state !== VALUE && this.#state !== VALUE_OR_CLOSE) {
      this.#fail('unexpected opening bracket')
      return
    }
    if (this.#depth === MAX_DEPTH) {
      this.#fail(`nested deeper than ${MAX_DEPTH}`)
      return
    }
    this.#beginValue(place)
    this.#inObject[this.#depth] = object
    this.#depth++
    if (this.#depth === 2) this.#resultKey = ''
    this.#state = object ? KEY_OR_CLOSE : VALUE_OR_CLOSE
  }

  #close(object: boolean, place: number): void {
    const empty = object ? KEY_OR_CLOSE : VALUE_OR_CLOSE
    if (
      this.#depth === 0 ||
      this.#inObject[this.#depth - 1] !== object ||
      (this.#state !== AFTER_VALUE && this.#state !== empty)
    ) {
      this.#fail('unexpected closing bracket')
      return
    }
    this.#depth--
    this.#endValue(place + 1)
  }

  #beginValue(place: number): void {
    if (this.#depth === 1) this.#valueStart = place
  }

  #endValue(place: number): void {
    this.#state = this.#depth === 0 ? DONE : AFTER_VALUE
    if (this.#depth !== 1 || !this.#inObject[0]) return
    const span = { start: this.#valueStart, end: place }
    if (this.#topKey === 'id') this.#spans.id = span
    else if (this.#topKey === 'result') this.#spans.result = span
    else if (this.#topKey === 'error') this.#spans.error = span
  }

  #beginString(place: number): void {
    this.#isKey = this.#state === KEY || this.#state === KEY_OR_CLOSE
    if (!this.#isKey && this.#state !== VALUE && this.#state !== VALUE_OR_CLOSE) {
      this.#fail('unexpected text')
      return
    }
    this.#text = ''
    if (!this.#isKey) this.#beginValue(place)
    this.#state = IN_STRING
  }

  /** Only short texts near the top can matter; of all others nothing is kept. */
  #keeps(): boolean {
    return this.#depth <= 2 && this.#text.length <= KEY_LIMIT
  }

  #string(chunk: Uint8Array, from: number): number {
    let at = from
    while (at < chunk.length) {
      if (this.#escape !== '') {
        this.#escapeByte(chunk[at] as number)
        if (this.failure !== undefined) return at
        at++
        continue
      }
      const run = at
      let byte = chunk[at] as number
      while (byte !== QUOTE && byte !== BACKSLASH && byte >= 0x20 && ++at < chunk.length) byte = chunk[at] as number
      if (this.#keeps()) this.#text += latin1(chunk, run, Math.min(at, run + KEY_LIMIT + 1))
      if (at === chunk.length) return at
      if (byte === QUOTE) {
        this.#endString(this.#offset + at + 1)
        return at + 1
      }
      if (byte !== BACKSLASH) {
        this.#fail('a control character inside a text')
        return at
      }
      this.#escape = '\\'
      at++
    }
    return at
  }

  #escapeByte(byte: number): void {
    const char = String.fromCharCode(byte)
    if (this.#escape === '\\') {
      if (char === 'u') {
        this.#escape = 'u'
        return
      }
      if (!'"\\/bfnrt'.includes(char)) {
        this.#fail('an unknown escape inside a text')
        return
      }
      if (this.#keeps()) this.#text += JSON.parse(`"\\${char}"`) as string
      this.#escape = ''
      return
    }
    this.#escape += char
    if (this.#escape.length < 5) return
    const digits = this.#escape.slice(1)
    this.#escape = ''
    if (!HEX.test(digits)) this.#fail('a broken \\u escape inside a text')
    else if (this.#keeps()) this.#text += String.fromCharCode(Number.parseInt(digits, 16))
  }

  #endString(place: number): void {
    if (this.#isKey) {
      this.#members++
      this.#state = AFTER_KEY
      this.#noteKey()
      return
    }
    if (this.#depth === 2 && this.#topKey === 'result' && this.#resultKey === 'resultType')
      this.#resultType = this.#text
    this.#endValue(place)
  }

  #noteKey(): void {
    if (this.#depth === 1) {
      this.#topKey = this.#text
      const bit = ENVELOPE_KEYS[this.#text] ?? 0
      if (this.#seenTopKeys & bit) this.#fail(`the key "${this.#text}" stands twice`)
      this.#seenTopKeys |= bit
    } else if (this.#depth === 2) this.#resultKey = this.#text
  }
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at] as number)
  return text
}
