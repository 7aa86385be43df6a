/** A value within proven JSON. */
export interface JsonPlace {
  readonly start: number
  readonly end: number
}

export interface JsonMember extends JsonPlace {
  /** Of an object. */
  readonly key: string | undefined
  /** Where the member begins: at its key, or at the value. */
  readonly from: number
}

export const rootPlace = (text: string): JsonPlace => ({ start: skipSpace(text, 0), end: text.trimEnd().length })

export function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++
  return at
}

/** Behind the closing quotation mark. */
export function jsonTextEnd(text: string, quote: number): number {
  let at = quote + 1
  for (;;) {
    const next = text.indexOf('"', at)
    if (next < 0) return text.length
    let slashes = 0
    while (text.charCodeAt(next - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return next + 1
    at = next + 1
  }
}

/** Behind the value that begins here; nesting is counted and not recursed into. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  let at = start
  while (at < text.length) {
    const sign = text[at] as string
    if (sign === '"') at = jsonTextEnd(text, at)
    else if (depth === 0 && (sign === ',' || sign === '}' || sign === ']')) break
    else {
      if (sign === '{' || sign === '[') depth++
      else if (sign === '}' || sign === ']') depth--
      at++
    }
    if (depth === 0 && (sign === '"' || sign === '}' || sign === ']')) return at
  }
  return text.slice(start, at).trimEnd().length + start
}

/** The members of the object or array that begins here; none of anything else. */
export function* membersAt(text: string, container: number): Generator<JsonMember> {
  const open = text[container]
  if (open !== '{' && open !== '[') return
  let at = skipSpace(text, container + 1)
  while (at < text.length && text[at] !== '}' && text[at] !== ']') {
    const from = at
    let key: string | undefined
    if (open === '{') {
      const keyEnd = jsonTextEnd(text, at)
      key = JSON.parse(text.slice(at, keyEnd)) as string
      at = skipSpace(text, skipSpace(text, keyEnd) + 1)
    }
    const end = valueEnd(text, at)
    yield { key, from, start: at, end }
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
}

/** As in every parser, of two members with one name the last one counts. */
export function findMember(text: string, container: number, step: string): JsonMember | undefined {
  const index = text[container] === '[' && /^(?:0|[1-9]\d{0,14})$/.test(step) ? Number(step) : undefined
  let found: JsonMember | undefined
  let count = 0
  for (const member of membersAt(text, container)) {
    if (member.key === undefined ? count++ === index : member.key === step) found = member
  }
  return found
}
