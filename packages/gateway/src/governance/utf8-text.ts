import { isUtf8 } from 'node:buffer'

/** The text of a file, with its byte order mark, which has to stay where it is; nothing if it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined
  // A decoder would take two bytes for each letter of it, in every line that is cut out of it.
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
