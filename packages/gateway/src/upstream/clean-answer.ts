import { type Era, type JsonMember, RESULT_SHAPE, type Span } from '@sallyport/core'
import { bytesOf, type Edit, spliced } from './spliced.ts'
import type { Frame } from './transport.ts'

const COMMA = 0x2c
const SPACE = 0x20
/** In the modern era what a tool gives back may be null. */
const ANY_VALUE = 'structuredContent'
const CONTENT = '"content":[]'

export interface Answered {
  readonly method: string
  readonly era: Era
}

/**
 * An answer without what only the gateway may say, without members that are null where the protocol has no null, and with
 * the `content` that every result of a tool has. Nearly all are left as they are.
 */
export function cleanAnswer(frame: Frame, { method, era }: Answered): Frame {
  const { ownMembers, nullMembers, resultType } = frame.envelope
  const cut = ownMembers === undefined && nullMembers === undefined ? frame : withoutSurplus(frame, era)
  const isComplete = resultType === undefined || resultType === 'complete'
  return method === 'tools/call' && isComplete && lacksContent(frame) ? withContent(cut) : cut
}

function withoutSurplus(frame: Frame, era: Era): Frame {
  const { ownMembers = [], nullMembers = [] } = frame.envelope
  const surplus = [...ownMembers, ...nullMembers.filter(({ key }) => era === 'legacy' || key !== ANY_VALUE)]
  if (surplus.length === 0) return frame
  surplus.sort((one, other) => one.start - other.start)
  return editFrame(frame, cutsOf(frame.parts, surplus))
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
  const isCut = (at: number): boolean => edits.some(({ start, end, text }) => text === '' && start <= at && at < end)
  const moved = {
    bytes: place(envelope.bytes),
    id: span(envelope.id),
    result: span(envelope.result),
    error: span(envelope.error),
    serverInfo: span(envelope.serverInfo),
    resultMembers: envelope.resultMembers?.filter(({ start }) => !isCut(start)).map(member),
    ownMembers: undefined,
    nullMembers: undefined,
  }
  return { parts: pieces, envelope: { ...envelope, ...moved } }
}
