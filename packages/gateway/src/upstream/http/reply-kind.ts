import type { ResponseHeaders } from './response-head.ts'

/** How to read the body of a response to a message. */
export type ReplyKind =
  /** Accepted, and no answer comes in this response. */
  | 'none'
  /** One message. */
  | 'json'
  /** A stream of messages. */
  | 'events'
  /** Not a success status; the body may say why. */
  | 'refusal'
  /** A success, but with a body that we cannot read. */
  | 'foreign'

export function classifyReply(status: number, headers: ResponseHeaders): ReplyKind {
  if (status < 200 || status > 299) return 'refusal'
  if (status === 202 || status === 204) return 'none'
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') return 'foreign'
  const type = headers['content-type']
  if (type === undefined || type === 'application/json') return 'json'
  const media = String(type).split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (media === 'text/event-stream') return 'events'
  return media === 'application/json' || media.endsWith('+json') ? 'json' : 'foreign'
}
