const PLAIN_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/
/** The characters that HTTP allows in a header value, including tabs between others. */
const READABLE = /^[\t\x20-\x7e]*$/
const SENTINEL = /^=\?base64\?(.*)\?=$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Encodes a string for an `mcp-…` header: unchanged if HTTP can carry it, otherwise as marked base64. */
export function encodeHeaderValue(value: string): string {
  if (PLAIN_VALUE.test(value) && !SENTINEL.test(value)) return value
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`
}

/** Decodes such a value; `undefined` if it is not encoded as the protocol requires. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!READABLE.test(value)) return undefined
  const encoded = SENTINEL.exec(value)?.[1]
  if (encoded === undefined) return value
  if (!BASE64.test(encoded)) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('utf8')
  // Invalid UTF-8, or base64 with extra bits at its end, could be decoded differently elsewhere.
  return toBase64(text) === encoded ? text : undefined
}

const toBase64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64')
