import type { Envelope, SallyportError } from '@sallyport/core'
import type { OutgoingCall } from './link/outgoing-call.ts'

/** One whole JSON-RPC message: proven well-formed, kept as the bytes that arrived. */
export interface Frame {
  readonly parts: readonly Buffer[]
  readonly envelope: Envelope
}

/** A request under its id, printed. */
export interface EncodedRequest {
  readonly id: number
  readonly call: OutgoingCall
  /** The whole JSON-RPC message on one line. */
  readonly text: string
}

export interface TransportEvents {
  /** `during` is the request on whose own stream the frame came; a shared pipe cannot tell. */
  onFrame(frame: Frame, during: number | undefined): void
  /** This one request will get no answer; the connection lives on. */
  onFailure(id: number, error: SallyportError): void
  /** Something odd that harms nobody: a garbage line, a BOM, a line of stderr. */
  onWarning(text: string): void
  /** The connection is gone and with it everything in flight. Told once, and not after `close`. */
  onClose(reason: string): void
}

/** A connection that carries JSON-RPC messages and knows nothing of what they mean. */
export interface Transport {
  /** Resolves once messages can be sent; rejects with a SallyportError that says what to do. */
  open(events: TransportEvents): Promise<void>
  /** Asks `usePermit` right before it writes it; `onFailure` reports a permit that is no longer given. */
  request(request: EncodedRequest): void
  /** A notification, or the answer to a request of the server. */
  send(text: string): void
  /** Stops waiting for an answer. True when that alone tells the server (a closed HTTP stream); else the caller notifies it. */
  abandon(id: number): boolean
  /** The handshake ended with this protocol version; HTTP repeats it in a header. */
  setProtocolVersion(protocolVersion: string): void
  /** After this nothing of it is left: no process, no socket, no timer. */
  close(): Promise<void>
}
