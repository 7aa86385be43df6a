import { randomUUID } from 'node:crypto'
import { isJsonObject, isListAt, isObjectAt, type Json, type JsonObject, listMembers, META } from '@sallyport/core'

/** The id of a request, or a progress token: as parsed, or an integer beyond 2^53, whose text is behind a mark. */
export type RequestId = string | number

/** No client can send a string with this beginning, because nobody else knows it. */
const MARK = `number ${randomUUID()} `
export const MAX_ID_LENGTH = 256

/** An integer that a double does not represent, as its text. It is printed without quotes. */
const isExactInteger = (id: Json | undefined): id is string => typeof id === 'string' && id.startsWith(MARK)

/** `undefined` if it cannot be the id of a request: MCP has strings and integers, and a fraction could be printed in several ways. */
export function toRequestId(id: Json | undefined): RequestId | undefined {
  if (typeof id === 'number') return Number.isSafeInteger(id) ? id : undefined
  return typeof id === 'string' && id.length <= MAX_ID_LENGTH ? id : undefined
}

/** The JSON of an id, with the text of an exact integer. */
export const printId = (id: Json): string => (isExactInteger(id) ? id.slice(MARK.length) : JSON.stringify(id))

/** A notification as JSON, with the text of a progress token or subscription id that is an exact integer. */
export function printNotification(notification: JsonObject): string {
  const printed = JSON.stringify({ jsonrpc: '2.0', ...notification })
  const { params } = notification
  if (!isJsonObject(params)) return printed
  const ids = [params.progressToken, isJsonObject(params._meta) ? params._meta[META.subscriptionId] : undefined]
  return ids.filter(isExactInteger).reduce((text, id) => text.replace(JSON.stringify(id), printId(id)), printed)
}

/** The members that a client chooses and gets back: in the message itself, in `params` and in its `_meta`. */
const ID_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  '': ['id'],
  params: ['requestId'],
  _meta: ['progressToken'],
}

/**
 * The same message, or batch, with ids and progress tokens as marked strings where they are integers that a double
 * cannot represent; `undefined` if there are none. The text is known to be valid JSON.
 */
export function markExactIds(text: string): string | undefined {
  const start = text.search(/\S/)
  const messages = isListAt(text, start) ? Array.from(listMembers(text, start), ({ value }) => value) : [start]
  const found = messages
    .flatMap((at) => findExactIds(text, { at, place: '' }))
    .sort((one, other) => one.start - other.start)
  if (found.length === 0) return undefined
  let out = ''
  let from = 0
  for (const { start, end } of found) {
    out += text.slice(from, start) + JSON.stringify(MARK + text.slice(start, end))
    from = end
  }
  return out + text.slice(from)
}

interface Place {
  readonly at: number
  readonly place: string
}

interface NumberSpan {
  readonly start: number
  readonly end: number
}

const CHILDREN: Readonly<Record<string, string>> = { '': 'params', params: '_meta' }

function findExactIds(text: string, { at, place }: Place): NumberSpan[] {
  if (!isObjectAt(text, at)) return []
  const found: NumberSpan[] = []
  for (const { key, value, end } of listMembers(text, at)) {
    if (
      ID_MEMBERS[place]?.includes(key) &&
      isInexactInteger(text.slice(value, Math.min(end, value + MAX_ID_LENGTH + 1)))
    )
      found.push({ start: value, end })
    else if (key === CHILDREN[place]) found.push(...findExactIds(text, { at: value, place: key }))
  }
  return found
}

/** A longer text stays a number, and is refused like every other that JSON does not represent. */
const isInexactInteger = (token: string): boolean =>
  /^-?\d+$/.test(token) && token.length <= MAX_ID_LENGTH && !Number.isSafeInteger(Number(token))
