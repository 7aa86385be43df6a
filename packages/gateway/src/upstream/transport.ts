import type { Envelope, SallyportError } from '@sallyport/core'
import type { TokenAudience } from './link/caller-token.ts'
import type { OutgoingCall } from './link/outgoing-call.ts'

/** One whole JSON-RPC message: validated, and stored as the bytes that arrived. */
export interface Frame {
  readonly parts: readonly Buffer[]
  readonly envelope: Envelope
}

/** A serialized request and its id. */
export interface EncodedRequest {
  readonly id: number
  readonly call: OutgoingCall
  /** The whole JSON-RPC message on one line. */
  readonly text: string
  /** The same at the moment when it is written, if it changes while it waits. */
  readonly currentText?: (() => string) | undefined
}

export interface TransportEvents {
  /** `during` is the request on whose own stream the frame came; `undefined` on a shared pipe. */
  onFrame(frame: Frame, during: number | undefined): void
  /** This one request will get no answer; the connection stays open. */
  onFailure(id: number, error: SallyportError): void
  /**
   * The server forgot our session, and did not carry out the request `id`, if there is one. Other requests in flight
   * may still get an answer. Only transports with sessions call it.
   */
  onSessionExpired?(id?: number): void
  /**
   * It must end, since it reaches too much for its session. It gets no further requests, and is killed soon if those in
   * flight are not answered. Only programs with the network of this machine are ended like this.
   */
  onTooWide?(): void
  /** A harmless problem: an invalid line, a BOM, a line of stderr. */
  onWarning(text: string): void
  /** The connection is gone, and all requests in flight with it. Called once, and not after `close`. */
  onClose(reason: string): void
}

/** A connection that carries JSON-RPC messages without knowing what they mean. */
export interface Transport {
  /** Resolves once messages can be sent; rejects with a SallyportError that says what to do. */
  open(events: TransportEvents): Promise<void>
  /** Calls `usePermit` right before it writes the request; `onFailure` reports a permit that is no longer valid. */
  request(request: EncodedRequest): void
  /** A notification, or the answer to a request of the server. `waiting`: the call that cannot continue without it. */
  send(text: string, waiting?: number): void
  /**
   * Stops waiting for an answer. Returns true if that alone notifies the server (a closed HTTP stream); otherwise the
   * caller must notify it.
   */
  abandon(id: number): boolean
  /** The handshake ended with this protocol version; HTTP repeats it in a header. */
  setProtocolVersion(protocolVersion: string): void
  /** For a server that is told who calls. It is known once the transport is open. */
  readonly audience?: TokenAudience | undefined
  /** Afterwards nothing is left: no process, no socket, no timer. */
  close(): Promise<void>
}
