import { JsonScanner, SallyportError } from '@sallyport/core'
import type { Frame } from './transport.ts'

/** As deep as an answer may be. */
const MAX_DEPTH = 1_000

/** A frame of bytes that we wrote ourselves, in place of what a server said. */
export function scanFrame(parts: readonly Buffer[]): Frame {
  const scanner = new JsonScanner(MAX_DEPTH)
  for (const part of parts) scanner.feed(part)
  return finishScan(parts, scanner)
}

/** The same, step by step, each over so many bytes: others may have their turn in between. */
export function* scanFrameInSteps(parts: readonly Buffer[], length: number): Generator<undefined, Frame> {
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
