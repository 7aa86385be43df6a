/** A text within JSON: where it stands with its quotes, and what it says. */
export interface JsonText {
  readonly start: number
  readonly end: number
  readonly text: string
  readonly role: 'name' | 'value'
  /** Of the member that it is the value of; empty where it is none's. */
  readonly name: string
  /** One is within the outermost object. */
  readonly depth: number
}

const QUOTE = 0x22
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** All texts of proven JSON, names of members among them, in their order. */
export function* jsonTexts(json: string): Generator<JsonText> {
  let depth = 0
  let name = ''
  for (let at = 0; at < json.length; at++) {
    // By their codes: what holds few texts is passed over as quickly as may be.
    const code = json.charCodeAt(at)
    if (code !== QUOTE) {
      const isOpening = code === OPEN_OBJECT || code === OPEN_ARRAY
      if (!isOpening && code !== CLOSE_OBJECT && code !== CLOSE_ARRAY) continue
      depth += isOpening ? 1 : -1
      // Behind any other value than a text the next text is a name, or stands behind a bracket.
      name = ''
      continue
    }
    const end = textEnd(json, at)
    const role = isFollowedByColon(json, end) ? 'name' : 'value'
    const written = json.slice(at + 1, end - 1)
    const text = written.includes('\\') ? (JSON.parse(json.slice(at, end)) as string) : written
    yield { start: at, end, text, role, name: role === 'value' ? name : '', depth }
    name = role === 'name' ? text : ''
    at = end - 1
  }
}

/** Behind the quote that closes the text. */
function textEnd(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let before = at - 1
    while (json[before] === '\\') before--
    // An even number of backslashes escape each other.
    if ((at - before) % 2 === 1) return at + 1
  }
  return json.length
}

function isFollowedByColon(json: string, from: number): boolean {
  let at = from
  while (at < json.length && json.charAt(at) <= ' ') at++
  return json[at] === ':'
}
