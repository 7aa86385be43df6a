import { type Era, isJsonObject, type Json, type JsonObject, META, SallyportError } from '@sallyport/core'
import type { Frame } from '../upstream/upstream.ts'

/** A JSON-RPC message on one line, in pieces that are written one after the other. */
export type WireMessage = readonly (string | Buffer)[]

export function messageBytes(message: WireMessage): number {
  let bytes = 0
  for (const piece of message) bytes += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  return bytes
}

export function resultMessage(id: Json, result: JsonObject | Buffer): WireMessage {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  return Buffer.isBuffer(result) ? [head, result, '}'] : [`${head}${JSON.stringify(result)}}`]
}

export interface RpcFailure {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

export function errorMessage(id: Json | undefined, error: RpcFailure): WireMessage {
  return [`{"jsonrpc":"2.0","id":${JSON.stringify(id ?? null)},"error":${JSON.stringify(error)}}`]
}

export function notificationMessage(notification: JsonObject): WireMessage {
  return [JSON.stringify({ jsonrpc: '2.0', ...notification })]
}

export interface Relay {
  readonly id: Json
  readonly method: string
  readonly from: Era
  readonly to: Era
}

/** A server's answer under the client's own id: its bytes as they came, wherever the eras leave them as they are. */
export function relayedMessage(frame: Frame, relay: Relay): WireMessage {
  const { envelope } = frame
  if (relay.from !== relay.to && envelope.result && !isObject(frame.parts, envelope.result.start))
    return errorMessage(relay.id, { code: -32603, message: 'The server answered with a result that is no object.' })
  if (relay.from === 'modern' && relay.to === 'legacy' && envelope.result && !mustStay(envelope))
    return retold(frame, relay)
  const parts = envelope.hasLineBreaks ? frame.parts.map(withoutLineBreaks) : frame.parts
  if (!envelope.id) throw new SallyportError('INTERNAL', 'An answer without an id was matched to a call.')
  const edits = [{ start: envelope.id.start, end: envelope.id.end, text: JSON.stringify(relay.id) }]
  if (relay.from === 'legacy' && relay.to === 'modern' && envelope.result && envelope.resultType === undefined) {
    edits.push(stamp(frame, relay.method))
  }
  return spliced(
    parts,
    edits.sort((a, b) => a.start - b.start),
  )
}

/** Printing it again would change a number: then the few words that a legacy client does not know are the lesser evil. */
function mustStay({ hasUnsafeNumber, resultType }: Frame['envelope']): boolean {
  return hasUnsafeNumber && (resultType === undefined || resultType === 'complete')
}

/** In the modern era a result says that it is complete, and one that can be cached for how long. */
function stamp({ parts, envelope }: Frame, method: string) {
  const at = (envelope.result?.start ?? 0) + 1
  const fields =
    method === 'resources/read' ? '"resultType":"complete","ttlMs":0,"cacheScope":"private"' : '"resultType":"complete"'
  const empty = isEmptyObject(parts, at)
  return { start: at, end: at, text: empty ? fields : `${fields},` }
}

/** Line breaks stand only between tokens, so that a blank does as well; the other bytes must not be touched. */
function withoutLineBreaks(part: Buffer): Buffer {
  const copy = Buffer.from(part)
  for (let at = 0; at < copy.length; at++) if (copy[at] === 0x0a || copy[at] === 0x0d) copy[at] = 0x20
  return copy
}

const isObject = (parts: readonly Buffer[], from: number): boolean => firstByte(parts, from) === 0x7b

const isEmptyObject = (parts: readonly Buffer[], from: number): boolean => firstByte(parts, from) === 0x7d

/** The first byte from there on that is no white space. */
function firstByte(parts: readonly Buffer[], from: number): number | undefined {
  let offset = from
  for (const part of parts) {
    for (; offset < part.length; offset++) {
      const byte = part[offset] as number
      if (byte > 0x20) return byte
    }
    offset -= part.length
  }
  return undefined
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

function spliced(parts: readonly Buffer[], edits: readonly Edit[]): WireMessage {
  const out: (string | Buffer)[] = []
  let at = 0
  for (const edit of edits) {
    copyRange(parts, { start: at, end: edit.start }, out)
    out.push(edit.text)
    at = edit.end
  }
  copyRange(parts, { start: at, end: Number.POSITIVE_INFINITY }, out)
  return out
}

function copyRange(parts: readonly Buffer[], range: { start: number; end: number }, out: (string | Buffer)[]): void {
  let offset = 0
  for (const part of parts) {
    const from = Math.max(0, range.start - offset)
    const to = Math.min(part.length, range.end - offset)
    if (from < to) out.push(from === 0 && to === part.length ? part : part.subarray(from, to))
    offset += part.length
    if (offset >= range.end) return
  }
}

/** What the modern era adds to a result means nothing to a legacy client. */
function retold(frame: Frame, { id }: Relay): WireMessage {
  const message = JSON.parse(Buffer.concat(frame.parts).toString('utf8')) as JsonObject
  const { resultType, ttlMs: _ttl, cacheScope: _scope, _meta, ...result } = message.result as Record<string, Json>
  if (resultType !== undefined && resultType !== 'complete') {
    return errorMessage(id, {
      code: -32603,
      message: `The server answered with ${JSON.stringify(resultType).slice(0, 100)}, which this client cannot take.`,
    })
  }
  const { [META.serverInfo]: _info, ...meta } = isJsonObject(_meta) ? _meta : {}
  return resultMessage(id, Object.keys(meta).length > 0 ? { ...result, _meta: meta } : result)
}
