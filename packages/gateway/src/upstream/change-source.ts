import type { JsonObject } from '@sallyport/core'
import { FrameReader } from './frame-reader.ts'
import type { OutgoingCall } from './outgoing-call.ts'
import type { Frame } from './transport.ts'

/** How a client put it. Without one it is the gateway that asks, on behalf of those who wait already. */
export type SubscribeOptions = Pick<
  OutgoingCall,
  'params' | 'client' | 'ask' | 'limit' | 'onProgress' | 'mayTellSecrets'
>

/** One connection, as something that tells of changes. Each era is asked for that in a way of its own. */
export interface ChangeSource {
  /** So many resources may be asked for at the same time. */
  readonly maxConcurrent: number
  /** Asks to be told of a resource. Resolves with a result when that was granted, or with the server's own refusal. */
  subscribe(uri: string, by: SubscribeOptions | undefined): Promise<Frame>
  /** Never rejects: a server that does not take it goes on telling, which harms nobody. */
  unsubscribe(uri: string): Promise<void>
  /** True when the notification was about the telling itself, or came twice: then it is nobody else's affair. */
  consumes(notification: JsonObject): boolean
  close(): void
}

/** The answer for a client that wants what the server tells us already. */
export const SUBSCRIBED: Frame = createFrame('{"jsonrpc":"2.0","id":0,"result":{}}')

function createFrame(text: string): Frame {
  const reader = new FrameReader(text.length)
  reader.feed(Buffer.from(text))
  const outcome = reader.finish()
  if (outcome.kind !== 'frame') throw new TypeError(`An answer of our own is ${outcome.kind}.`)
  return outcome.frame
}
