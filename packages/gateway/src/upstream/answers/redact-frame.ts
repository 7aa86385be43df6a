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

/** What to remove from a frame. */
export interface Redaction {
  /** A quick check of the bytes, which may give false positives but no false negatives. */
  readonly mayHold: (parts: readonly Uint8Array[]) => boolean
  /** The same check, piece by piece; each takes the end of the previous piece into account. */
  readonly createSearch: () => (part: Uint8Array) => boolean
  /** A JSON string as it may be shown. */
  readonly show: RedactString
}

/** Keys and tokens of known shapes. */
const KNOWN_SHAPES: Redaction = {
  mayHold: mayHoldSecret,
  createSearch: createSecretSearch,
  show: redactMember,
}

/** Values that the client must send back unchanged. They belong to the protocol, and no model sees them. */
const OPAQUE_MEMBERS: ReadonlySet<string> = new Set(['requestState', 'nextCursor'])
/** For a message with a method; the server knows its question by the id. */
const PROTOCOL_MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method'])

/** This many bytes are checked in one turn of the event loop. */
const SEARCH_BYTES = 2_000_000
/** The same for removing secrets. */
const REDACT_LENGTH = 1_000_000
/** The same for a scan, which takes far longer for numbers than for strings. */
const SCAN_BYTES = 500_000
/** Shorter messages are redacted and scanned without a pause. */
const SHORT_BYTES = 200_000

/**
 * A frame without the keys and tokens that it contained; the same frame if it contained none. Nearly all contain none,
 * and pass as bytes after one check. Only the inside of strings is replaced: the rest stays byte for byte, including
 * numbers that a parser would change. Runs synchronously, unless the answer is large: then other calls get their turns
 * meanwhile.
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

/** The result or error of an answer; the whole of any other message. */
function readFrameText({ parts, envelope }: Frame): FrameText {
  const bytes = Buffer.concat(parts)
  const payload = envelope.result ?? envelope.error
  const { start, end } = payload ?? { start: 0, end: bytes.length }
  return {
    bytes,
    start,
    end,
    text: bytes.toString('utf8', start, end),
    except: payload ? OPAQUE_MEMBERS : PROTOCOL_MEMBERS,
  }
}

const replaceText = (shown: string, { bytes, start, end }: FrameText): readonly Buffer[] => [
  bytes.subarray(0, start),
  Buffer.from(shown),
  bytes.subarray(end),
]

/** The maximum depth of an answer. */
const MAX_DEPTH = 1_000

/** A frame of bytes that we wrote ourselves, in place of a server's message. */
export function scanFrame(parts: readonly Buffer[]): Frame {
  const scanner = new JsonScanner(MAX_DEPTH)
  for (const part of parts) scanner.feed(part)
  return finishScan(parts, scanner)
}

/** The same in steps, each over a limited number of bytes: others get their turn in between. */
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
