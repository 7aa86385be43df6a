/** Where a value of a JSON text stands: from `start` up to `end`. */
export interface JsonSpan {
  readonly start: number
  readonly end: number
  /** Of an object; undefined for anything else. */
  readonly members: readonly JsonMember[] | undefined
}

export interface JsonMember {
  readonly key: string
  readonly keyStart: number
  readonly value: JsonSpan
}

/** Finds the places of a text that was proven to be JSON before. */
export function jsonSpans(text: string): JsonSpan {
  return new SpanReader(text).read()
}

const SPACE = /[^\t\n\r ]/g
const PLAIN_END = /[\t\n\r ,\]}]|$/g

class SpanReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): JsonSpan {
    this.#skipSpace()
    const start = this.#at
    const members = this.#skipValue()
    return { start, end: this.#at, members }
  }

  #skipValue(): readonly JsonMember[] | undefined {
    const first = this.#text[this.#at]
    if (first === '{') return this.#readMembers()
    if (first === '[') this.#skipItems()
    else if (first === '"') this.#skipText()
    else this.#at = this.#find(PLAIN_END)
    return undefined
  }

  #readMembers(): readonly JsonMember[] {
    const members: JsonMember[] = []
    for (this.#at++; this.#opensNext('}'); ) {
      const keyStart = this.#at
      this.#skipText()
      const key = JSON.parse(this.#text.slice(keyStart, this.#at)) as string
      this.#skipSpace()
      this.#at++
      members.push({ key, keyStart, value: this.read() })
    }
    return members
  }

  #skipItems(): void {
    for (this.#at++; this.#opensNext(']'); ) this.read()
  }

  /** Goes to the next member or item, or behind the end of them. */
  #opensNext(closing: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] === ',') this.#at++
    this.#skipSpace()
    if (this.#text[this.#at] !== closing) return this.#at < this.#text.length
    this.#at++
    return false
  }

  #skipText(): void {
    for (this.#at++; this.#text[this.#at] !== '"' && this.#at < this.#text.length; this.#at++)
      if (this.#text[this.#at] === '\\') this.#at++
    this.#at++
  }

  #skipSpace(): void {
    this.#at = this.#find(SPACE)
  }

  #find(pattern: RegExp): number {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#text)?.index ?? this.#text.length
  }
}
