import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSecretSearch, mayHoldSecret, redactJsonInSteps, redactJsonText } from '@sallyport/core'
import { type Frame, frameInSteps, frameOf } from '../upstream/upstream.ts'

/** What the client must give back as it is: the protocol's own words, which no model is shown. */
const OPAQUE: ReadonlySet<string> = new Set(['requestState', 'nextCursor'])

/** So much is looked through in one turn of the event loop. */
const LOOK_BYTES = 2_000_000
/** The same for taking secrets out. */
const REDACT_LENGTH = 1_000_000
/** The same for a scan, which takes far longer for numbers than for texts. */
const SCAN_BYTES = 500_000
/** What is shorter is redacted and scanned at once. */
const SHORT_BYTES = 200_000

/**
 * An answer without the keys and tokens that it held; the very same where it held none.
 *
 * Nearly all hold none, and pass as bytes after one look at them. What is replaced is the inside of texts alone: the
 * rest stays byte for byte, with the numbers that a parser would change. At once, unless the answer is large: other
 * calls get their turns meanwhile.
 */
export function redactFrame(frame: Frame): Frame | Promise<Frame> {
  const { parts, envelope } = frame
  if (envelope.result === undefined && envelope.error === undefined) return frame
  if (envelope.bytes > LOOK_BYTES) return redactLarge(frame)
  if (!mayHoldSecret(parts)) return frame
  return envelope.bytes > SHORT_BYTES ? redactedInTurns(frame) : redacted(frame)
}

async function redactLarge(frame: Frame): Promise<Frame> {
  const mayHold = createSecretSearch()
  let looked = 0
  for (const part of frame.parts) {
    if (mayHold(part)) return await redactedInTurns(frame)
    looked += part.length
    if (looked < LOOK_BYTES) continue
    looked = 0
    await nextTurn()
  }
  return frame
}

async function redactedInTurns(frame: Frame): Promise<Frame> {
  const written = writtenIn(frame)
  const shown = await inTurns(redactJsonInSteps(written.text, OPAQUE, REDACT_LENGTH))
  return shown === written.text ? frame : inTurns(frameInSteps(partsWith(shown, written), SCAN_BYTES))
}

async function inTurns<Result>(steps: Generator<undefined, Result>): Promise<Result> {
  for (;;) {
    await nextTurn()
    const { done, value } = steps.next()
    if (done) return value
  }
}

function redacted(frame: Frame): Frame {
  const written = writtenIn(frame)
  const shown = redactJsonText(written.text, OPAQUE)
  return shown === written.text ? frame : frameOf(partsWith(shown, written))
}

interface Written {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly text: string
}

function writtenIn({ parts, envelope }: Frame): Written {
  const { start, end } = envelope.result ?? envelope.error ?? { start: 0, end: 0 }
  const bytes = Buffer.concat(parts)
  return { bytes, start, end, text: bytes.toString('utf8', start, end) }
}

const partsWith = (shown: string, { bytes, start, end }: Written): readonly Buffer[] => [
  bytes.subarray(0, start),
  Buffer.from(shown),
  bytes.subarray(end),
]
