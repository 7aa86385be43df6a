import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  createSecretSearch,
  JsonScanner,
  mayHoldSecret,
  type RedactString,
  redactJsonInSteps,
  redactMember,
  SallyportError,
} from '@sallyport/core'
import type { Frame } from '../transport.ts'

/** What is taken out of a frame. */
export interface Redaction {
  /** A quick look at the bytes, which errs on the side of yes. */
  readonly mayHold: (parts: readonly Uint8Array[]) => boolean
  /** The same, piece by piece, each with what came before it in mind. */
  readonly createSearch: () => (part: Uint8Array) => boolean
  /** A string of the JSON as it may be shown. */
  readonly show: RedactString
}

/** Keys and tokens of known shapes. */
const KNOWN_SHAPES: Redaction = {
  mayHold: mayHoldSecret,
  createSearch: createSecretSearch,
  show: redactMember,
}

/** What the client must give back as it is: the protocol's own words, which no model is shown. */
const OPAQUE_MEMBERS: ReadonlySet<string> = new Set(['requestState', 'nextCursor'])
/** Of a message with a method; the server knows its question by the id. */
const PROTOCOL_MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method'])

/** So much is looked through in one turn of the event loop. */
const SEARCH_BYTES = 2_000_000
/** The same for taking secrets out. */
const REDACT_LENGTH = 1_000_000
/** The same for a scan, which takes far longer for numbers than for texts. */
const SCAN_BYTES = 500_000
/** What is shorter is redacted and scanned at once. */
const SHORT_BYTES = 200_000

/**
 * A frame without the keys and tokens that it held; the very same where it held none.
 *
 * Nearly all hold none, and pass as bytes after one look at them. What is replaced is the inside of texts alone: the
 * rest stays byte for byte, with the numbers that a parser would change. At once, unless the answer is large: other
 * calls get their turns meanwhile.
 */
export function redactFrame(frame: Frame, redaction: Redaction = KNOWN_SHAPES): Frame | Promise<Frame> {
  const { parts, envelope } = frame
  if (envelope.bytes > SEARCH_BYTES) return redactLarge(frame, redaction)
  if (!redaction.mayHold(parts)) return frame
  return envelope.bytes > SHORT_BYTES ? redactInTurns(frame, redaction) : redactAtOnce(frame, redaction)
}

async function redactLarge(frame: Frame, redaction: Redaction): Promise<Frame> {
  const mayHold = redaction.createSearch()
  let looked = 0
  for (const part of frame.parts) {
    if (mayHold(part)) return await redactInTurns(frame, redaction)
    looked += part.length
    if (looked < SEARCH_BYTES) continue
    looked = 0
    await nextTurn()
  }
  return frame
}

async function redactInTurns(frame: Frame, { show: redactString }: Redaction): Promise<Frame> {
  const written = readFrameText(frame)
  const { text, except } = written
  const shown = await runInTurns(redactJsonInSteps(text, { except, stepLength: REDACT_LENGTH, redactString }))
  return shown === written.text ? frame : runInTurns(scanFrameInSteps(replaceText(shown, written), SCAN_BYTES))
}

async function runInTurns<Result>(steps: Generator<undefined, Result>): Promise<Result> {
  for (;;) {
    await nextTurn()
    const { done, value } = steps.next()
    if (done) return value
  }
}

function redactAtOnce(frame: Frame, { show: redactString }: Redaction): Frame {
  const written = readFrameText(frame)
  const { text, except } = written
  const { value: shown } = redactJsonInSteps(text, {
    except,
    stepLength: Number.POSITIVE_INFINITY,
    redactString,
  }).next()
  if (shown === undefined) throw new Error('It took more than one step.')
  return shown === written.text ? frame : scanFrame(replaceText(shown, written))
}

interface FrameText {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly text: string
  readonly except: ReadonlySet<string>
}

/** Of an answer its result or error, of any other message all of it. */
function readFrameText({ parts, envelope }: Frame): FrameText {
  const bytes = Buffer.concat(parts)
  const said = envelope.result ?? envelope.error
  const { start, end } = said ?? { start: 0, end: bytes.length }
  return {
    bytes,
    start,
    end,
    text: bytes.toString('utf8', start, end),
    except: said ? OPAQUE_MEMBERS : PROTOCOL_MEMBERS,
  }
}

const replaceText = (shown: string, { bytes, start, end }: FrameText): readonly Buffer[] => [
  bytes.subarray(0, start),
  Buffer.from(shown),
  bytes.subarray(end),
]

/** As deep as an answer may be. */
const MAX_DEPTH = 1_000

/** A frame of bytes that we wrote ourselves, in place of what a server said. */
export function scanFrame(parts: readonly Buffer[]): Frame {
  const scanner = new JsonScanner(MAX_DEPTH)
  for (const part of parts) scanner.feed(part)
  return finishScan(parts, scanner)
}

/** The same, step by step, each over so many bytes: others may have their turn in between. */
function* scanFrameInSteps(parts: readonly Buffer[], length: number): Generator<undefined, Frame> {
  const scanner = new JsonScanner(MAX_DEPTH)
  for (const part of parts) {
    for (let at = 0; at < part.length; at += length) {
      scanner.feed(part.subarray(at, at + length))
      yield
    }
  }
  return finishScan(parts, scanner)
}

function finishScan(parts: readonly Buffer[], scanner: JsonScanner): Frame {
  const envelope = scanner.end()
  if (envelope === undefined)
    throw new SallyportError('INTERNAL', `An answer that was changed is no longer JSON: ${scanner.failure}.`)
  return { parts, envelope }
}
