const PLAIN_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/
/** What HTTP lets stand in a value; its tabs too may be inside. */
const READABLE = /^[\t\x20-\x7e]*$/
const SENTINEL = /^=\?base64\?(.*)\?=$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** A text as the value of an `mcp-…` header: as it is where HTTP carries it unchanged, else in base64 between marks. */
export function encodeHeaderValue(value: string): string {
  if (PLAIN_VALUE.test(value) && !SENTINEL.test(value)) return value
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`
}

/** The text that such a value stands for; nothing when it is not written as the protocol says. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!READABLE.test(value)) return undefined
  const encoded = SENTINEL.exec(value)?.[1]
  if (encoded === undefined) return value
  if (!BASE64.test(encoded)) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('utf8')
  // What is no UTF-8, or has bits after its end, would be one text here and another elsewhere.
  return toBase64(text) === encoded ? text : undefined
}

const toBase64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64')
