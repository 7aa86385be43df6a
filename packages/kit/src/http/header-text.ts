const READABLE = /^[\t\x20-\x7e]*$/
const SENTINEL = /^=\?base64\?(.*)\?=$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** What a header of the modern era says: plain text, or `=?base64?…?=` for what plain text cannot hold. */
export function readHeaderText(value: string): string | undefined {
  if (!READABLE.test(value)) return undefined
  const encoded = SENTINEL.exec(value)?.[1]
  if (encoded === undefined) return value
  if (!BASE64.test(encoded)) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  // What is no UTF-8, or has bits after its end, another reader would take for another text.
  return Buffer.from(text, 'utf8').toString('base64') === encoded ? text : undefined
}
