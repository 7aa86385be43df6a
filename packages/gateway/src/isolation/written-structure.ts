import { findJsonValue, hasInexactNumber, type JsonObject } from '@sallyport/core'
import type { Frame } from '../upstream/upstream.ts'

/** The structured content of a result as its server wrote it, where a value would not say the same, or is not needed. */
export function writtenStructure({ parts, envelope }: Frame, result: JsonObject, most: number): string | undefined {
  if (result.structuredContent === undefined || envelope.result === undefined) return undefined
  const { start, end } = envelope.result
  const text = Buffer.concat(parts).toString('utf8', start, end)
  const found = findJsonValue(text, ['structuredContent'])
  if ('problem' in found) return undefined
  const written = text.slice(found.start, found.end)
  return written.length > most || hasInexactNumber(written) ? written : undefined
}
