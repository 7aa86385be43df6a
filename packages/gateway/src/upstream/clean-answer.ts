import { type JsonMember, RESULT_SHAPE, type Span } from '@sallyport/core'
import { bytesOf, type Edit, spliced } from './spliced.ts'
import type { Frame } from './transport.ts'

const COMMA = 0x2c
const SPACE = 0x20
const CONTENT = '"content":[]'

/** An answer without what only the gateway may say, and with the `content` that every result of a tool has. Nearly all are left as they are. */
export function cleanAnswer(frame: Frame, method: string): Frame {
  const { ownMembers, resultType } = frame.envelope
  const cut = ownMembers === undefined ? frame : editFrame(frame, cutsOf(frame.parts, ownMembers))
  const isComplete = resultType === undefined || resultType === 'complete'
  return method === 'tools/call' && isComplete && lacksContent(frame) ? withContent(cut) : cut
}

/** A task that was made in place of a result has none. */
function lacksContent({ envelope: { result, shape } }: Frame): boolean {
  return result !== undefined && (shape & (RESULT_SHAPE.content | RESULT_SHAPE.task | RESULT_SHAPE.taskId)) === 0
}

function withContent(frame: Frame): Frame {
  const { result, resultMembers } = frame.envelope
  const at = (result?.start ?? 0) + 1
  const isEmpty = resultMembers === undefined ? nextByte(frame.parts, at) === 0x7d : resultMembers.length === 0
  const edited = editFrame(frame, [{ start: at, end: at, text: isEmpty ? CONTENT : `${CONTENT},` }])
  if (edited.envelope.resultMembers === undefined) return edited
  const added = { key: 'content', start: at, value: at + CONTENT.indexOf('['), end: at + CONTENT.length }
  return { ...edited, envelope: { ...edited.envelope, resultMembers: [added, ...edited.envelope.resultMembers] } }
}

/** Each goes with one comma: the one behind it, or where it is the last one the one before. */
function cutsOf(parts: readonly Buffer[], members: readonly Span[]): readonly Edit[] {
  const cuts: Edit[] = []
  for (const { start, end } of members) {
    const after = skipSpace(parts, end, 1)
    if (byteAt(parts, after) === COMMA) {
      cuts.push({ start, end: after + 1, text: '' })
      continue
    }
    // What stands right before it may go too: then the comma before all of that.
    let from = start
    for (let last = cuts.at(-1); last && skipSpace(parts, from - 1, -1) < last.end; last = cuts.at(-1)) {
      from = last.start
      cuts.pop()
    }
    cuts.push({ start: withComma(parts, from), end, text: '' })
  }
  return cuts
}

function withComma(parts: readonly Buffer[], start: number): number {
  const before = skipSpace(parts, start - 1, -1)
  return byteAt(parts, before) === COMMA ? before : start
}

function skipSpace(parts: readonly Buffer[], from: number, step: 1 | -1): number {
  let at = from
  while ((byteAt(parts, at) ?? COMMA) <= SPACE) at += step
  return at
}

function nextByte(parts: readonly Buffer[], from: number): number | undefined {
  return byteAt(parts, skipSpace(parts, from, 1))
}

function byteAt(parts: readonly Buffer[], at: number): number | undefined {
  return bytesOf(parts, at, at + 1)[0]
}

/** The same message with some places rewritten. What was noted of it is moved along, so that it is not read again. */
function editFrame({ parts, envelope }: Frame, edits: readonly Edit[]): Frame {
  const pieces = spliced(parts, edits).map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
  const place = (at: number): number => {
    let moved = at
    for (const { start, end, text } of edits) if (end <= at) moved += text.length - (end - start)
    return moved
  }
  const span = (noted: Span | undefined): Span | undefined =>
    noted && { start: place(noted.start), end: place(noted.end) }
  const member = ({ key, start, value, end }: JsonMember): JsonMember => ({
    key,
    start: place(start),
    value: place(value),
    end: place(end),
  })
  const moved = {
    bytes: place(envelope.bytes),
    id: span(envelope.id),
    result: span(envelope.result),
    error: span(envelope.error),
    serverInfo: span(envelope.serverInfo),
    resultMembers: envelope.resultMembers?.map(member),
    ownMembers: undefined,
  }
  return { parts: pieces, envelope: { ...envelope, ...moved } }
}
