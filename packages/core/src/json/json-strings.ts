import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts'
import { readString, skipSpace, stringEnd } from './json-walk.ts'

/** A string in JSON: its span including the quotes, and its decoded content. */
export interface JsonString {
  readonly start: number
  readonly end: number
  readonly text: string
  readonly role: 'name' | 'value'
  /** The key of the member whose value it is; empty if it is not the value of a member. */
  readonly name: string
  /** 1 is inside the outermost object. */
  readonly depth: number
}

/** All strings of valid JSON in order, including keys. */
export function* listJsonStrings(json: string): Generator<JsonString> {
  let depth = 0
  let name = ''
  for (let at = 0; at < json.length; at++) {
    // Compares character codes, so that text with few strings is skipped quickly.
    const code = json.charCodeAt(at)
    if (code !== QUOTE) {
      const isOpening = code === OPEN_OBJECT || code === OPEN_ARRAY
      if (!isOpening && code !== CLOSE_OBJECT && code !== CLOSE_ARRAY) continue
      depth += isOpening ? 1 : -1
      // After a nested value the next string is a key, or an item of a list.
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
