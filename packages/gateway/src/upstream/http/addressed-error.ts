import { FrameReader } from '../frame-reader.ts'
import type { Frame } from '../transport.ts'

/** The same error, as the answer to this request; nothing when the frame is no error. Servers that could not read a request do not know its id. */
export function errorReply(frame: Frame, id: number): Frame | undefined {
  const { error, hasMethod, result } = frame.envelope
  if (error === undefined || result !== undefined || hasMethod) return undefined
  if (frame.envelope.numericId === id) return frame
  const reader = new FrameReader(Number.POSITIVE_INFINITY)
  reader.feed(Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":`))
  reader.feed(Buffer.concat(frame.parts).subarray(error.start, error.end))
  reader.feed(Buffer.from('}'))
  const outcome = reader.finish()
  return outcome.kind === 'frame' ? outcome.frame : undefined
}
