import { findJsonValue, hasInexactNumber, type JsonObject } from '@sallyport/core'
import { type Frame, parseFrame, sliceBytes } from '../upstream/upstream.ts'

/** Smaller content is parsed quickly enough. */
const MIN_DETACHED_BYTES = 262_144
/** Three bytes of UTF-8 are at least one character, as JavaScript counts them. */
const BYTES_PER_CHARACTER = 3
const KEY = 'structuredContent'

/** The structured content as the server wrote it, if parsing would lose digits or it is too long to return; otherwise `undefined`. */
export function findRawStructure(
  { parts, envelope }: Frame,
  result: JsonObject,
  maxLength: number,
): string | undefined {
  if (result.structuredContent === undefined || envelope.result === undefined) return undefined
  const { start, end } = envelope.result
  const text = Buffer.concat(parts).toString('utf8', start, end)
  const found = findJsonValue(text, [KEY])
  if ('problem' in found) return undefined
  const written = text.slice(found.start, found.end)
  return written.length > maxLength || hasInexactNumber(written) ? written : undefined
}

/** A message without its structured content, and the bytes of that content. */
export interface DetachedStructure {
  readonly message: JsonObject
  readonly written: Buffer
}

/**
 * Does not parse structured content that is too large to be returned: tens of megabytes would block all other calls
 * and use ten times as much memory. `undefined` if it is small, missing, or present more than once.
 */
export function detachStructure({ parts, envelope }: Frame, maxLength: number): DetachedStructure | undefined {
  const found = envelope.resultMembers?.filter(({ key }) => key === KEY) ?? []
  const [member] = found
  if (member === undefined || found.length > 1) return undefined
  const { value, end } = member
  if (end - value <= Math.max(MIN_DETACHED_BYTES, BYTES_PER_CHARACTER * maxLength)) return undefined
  const around = [sliceBytes(parts, 0, value), Buffer.from('{}'), sliceBytes(parts, end, envelope.bytes)]
  return { message: parseFrame({ parts: around, envelope }), written: sliceBytes(parts, value, end) }
}
