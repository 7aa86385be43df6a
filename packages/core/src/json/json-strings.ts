import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts'
import { readString, skipSpace, stringEnd } from './json-walk.ts'

/** A text within JSON: where it stands with its quotes, and what it says. */
export interface JsonString {
  readonly start: number
  readonly end: number
  readonly text: string
  readonly role: 'name' | 'value'
  /** Of the member that it is the value of; empty where it is none's. */
  readonly name: string
  /** One is within the outermost object. */
  readonly depth: number
}

/** All texts of proven JSON, names of members among them, in their order. */
export function* listJsonStrings(json: string): Generator<JsonString> {
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
    const end = stringEnd(json, at)
    const role = json.charCodeAt(skipSpace(json, end)) === COLON ? 'name' : 'value'
    const text = readString(json, { start: at, end })
    yield { start: at, end, text, role, name: role === 'value' ? name : '', depth }
    name = role === 'name' ? text : ''
    at = end - 1
  }
}
