import type { ResponseHeaders } from './response-head.ts'

/** How the body of a response to a message is to be read. */
export type ReplyKind =
  /** Taken, and no answer comes this way. */
  | 'none'
  /** One message. */
  | 'json'
  /** A stream of messages. */
  | 'events'
  /** A status that is no success; the body may say why. */
  | 'refusal'
  /** Success, but nothing that we can read. */
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
