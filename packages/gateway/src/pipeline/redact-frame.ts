import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSecretSearch, mayHoldSecret, redactJsonText } from '@sallyport/core'
import { type Frame, frameOf } from '../upstream/upstream.ts'

/** What the client must give back as it is: the protocol's own words, which no model is shown. */
const OPAQUE: ReadonlySet<string> = new Set(['requestState', 'nextCursor'])

/** So much is looked through in one turn of the event loop. */
const TURN_BYTES = 2_000_000

/**
 * An answer without the keys and tokens that it held; the very same where it held none.
 *
 * Nearly all hold none, and pass as bytes after one look at them. What is replaced is the inside of texts alone: the
 * rest stays byte for byte, with the numbers that a parser would change. At once, unless the answer is large: other
 * calls get their turns while that is looked through.
 */
export function redactFrame(frame: Frame): Frame | Promise<Frame> {
  const { parts, envelope } = frame
  if (envelope.result === undefined && envelope.error === undefined) return frame
  if (envelope.bytes > TURN_BYTES) return redactSlowly(frame)
  return mayHoldSecret(parts) ? redacted(frame) : frame
}

async function redactSlowly(frame: Frame): Promise<Frame> {
  const mayHold = createSecretSearch()
  let looked = 0
  for (const part of frame.parts) {
    if (mayHold(part)) return redacted(frame)
    looked += part.length
    if (looked < TURN_BYTES) continue
    looked = 0
    await nextTurn()
  }
  return frame
}

function redacted(frame: Frame): Frame {
  const { parts, envelope } = frame
  const { start, end } = envelope.result ?? envelope.error ?? { start: 0, end: 0 }
  const bytes = Buffer.concat(parts)
  const text = bytes.toString('utf8', start, end)
  const shown = redactJsonText(text, OPAQUE)
  if (shown === text) return frame
  return frameOf([bytes.subarray(0, start), Buffer.from(shown), bytes.subarray(end)])
}
