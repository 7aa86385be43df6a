import { findJsonValue, hasInexactNumber, type JsonObject } from '@sallyport/core'
import { type Frame, parseFrame, sliceBytes } from '../upstream/upstream.ts'

/** Below this it takes no time to parse. */
const MIN_DETACHED_BYTES = 262_144
/** So many bytes are at least one character, as JavaScript counts them. */
const BYTES_PER_CHARACTER = 3
const KEY = 'structuredContent'

/** The structured content of a result as its server wrote it, where a value would not say the same, or is not needed. */
export function findRawStructure({ parts, envelope }: Frame, result: JsonObject, most: number): string | undefined {
  if (result.structuredContent === undefined || envelope.result === undefined) return undefined
  const { start, end } = envelope.result
  const text = Buffer.concat(parts).toString('utf8', start, end)
  const found = findJsonValue(text, [KEY])
  if ('problem' in found) return undefined
  const written = text.slice(found.start, found.end)
  return written.length > most || hasInexactNumber(written) ? written : undefined
}

/** A message whose structured content was not parsed, and that as its bytes. */
export interface DetachedStructure {
  readonly message: JsonObject
  readonly written: Buffer
}

/**
 * Structured content that will be left out of what goes back is not parsed: tens of megabytes would keep everybody
 * waiting, and weigh ten times as much. Undefined where it is small, or not to be found at a glance.
 */
export function detachStructure({ parts, envelope }: Frame, most: number): DetachedStructure | undefined {
  const found = envelope.resultMembers?.filter(({ key }) => key === KEY) ?? []
  const [member] = found
  if (member === undefined || found.length > 1) return undefined
  const { value, end } = member
  if (end - value <= Math.max(MIN_DETACHED_BYTES, BYTES_PER_CHARACTER * most)) return undefined
  const around = [sliceBytes(parts, 0, value), Buffer.from('{}'), sliceBytes(parts, end, envelope.bytes)]
  return { message: parseFrame({ parts: around, envelope }), written: sliceBytes(parts, value, end) }
}
