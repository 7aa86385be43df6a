import { JsonScanner, mayHoldSecret, redactJsonText, SallyportError } from '@sallyport/core'
import type { Frame } from '../upstream/upstream.ts'

/** What the client must give back as it is: the protocol's own words, which no model is shown. */
const OPAQUE: ReadonlySet<string> = new Set(['requestState', 'nextCursor'])

/** As deep as an answer may be. */
const MAX_DEPTH = 1_000

/**
 * An answer without the keys and tokens that it held; the very same where it held none.
 *
 * Nearly all hold none, and pass as bytes after one look at them. What is replaced is the inside of texts alone: the
 * rest stays byte for byte, with the numbers that a parser would change.
 */
export function redactFrame(frame: Frame): Frame {
  const { parts, envelope } = frame
  const said = envelope.result ?? envelope.error
  if (said === undefined || !mayHoldSecret(parts)) return frame
  const bytes = Buffer.concat(parts)
  const text = bytes.toString('utf8', said.start, said.end)
  const redacted = redactJsonText(text, OPAQUE)
  if (redacted === text) return frame
  return frameOf([bytes.subarray(0, said.start), Buffer.from(redacted), bytes.subarray(said.end)])
}

function frameOf(parts: readonly Buffer[]): Frame {
  const scanner = new JsonScanner(MAX_DEPTH)
  for (const part of parts) scanner.feed(part)
  const envelope = scanner.end()
  if (envelope === undefined)
    throw new SallyportError('INTERNAL', `An answer is no longer JSON without its secrets: ${scanner.failure}.`)
  return { parts, envelope }
}
