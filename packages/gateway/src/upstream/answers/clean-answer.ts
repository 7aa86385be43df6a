import {
  type Era,
  type JsonMember,
  RESULT_SHAPE,
  type Span,
  sanitizeCompletion,
  stripReservedMeta,
} from '@sallyport/core'
import type { Frame } from '../transport.ts'
import { appliesTo, repairItems, toAsciiJson } from './item-repair.ts'
import { type Edit, sliceBytes, splice } from './splice.ts'

const COMMA = 0x2c
const SPACE = 0x20
const QUOTE = 0x22
const OPEN_OBJECT = 0x7b
const LETTER_N = 0x6e
/** In the modern era the structured content of a tool may be null or any other value. */
const STRUCTURED_CONTENT = 'structuredContent'
const EMPTY_CONTENT = '"content":[]'

export interface CleanAnswerOptions {
  readonly method: string
  readonly era: Era
  /** The server's name in the configuration. */
  readonly server: string
  /** Whether the client accepts any value as structured content, as in the modern era; a legacy client accepts only objects. */
  readonly takesAnyValue?: boolean
  /** Called for each replaced item with its path and the reason. */
  readonly onReplaced?: (problem: string) => void
}

/**
 * Returns an answer that a strict client accepts. Members reserved for the gateway are removed, and null members where
 * the protocol has no null. A missing `content` of a tool result is added. A placeholder replaces each item that the
 * protocol does not allow: otherwise a client that validates would reject the whole answer. Nearly all answers are
 * returned unchanged.
 */
export function cleanAnswer(frame: Frame, options: CleanAnswerOptions): Frame {
  const { reservedMembers, nullMembers, itemProblems, resultType, shape } = frame.envelope
  const { method, era } = options
  const isSound = reservedMembers === undefined && nullMembers === undefined && itemProblems === undefined
  const isBare = era === 'legacy' && !options.takesAnyValue && (shape & RESULT_SHAPE.bareValue) !== 0
  const cut = isSound && !isBare && !CHECKED_METHODS.has(method) ? frame : repairAnswer(frame, options)
  const isComplete = resultType === undefined || resultType === 'complete'
  return method === 'tools/call' && isComplete && lacksContent(frame) ? addContent(cut) : cut
}

/** Methods whose results have members that must be checked. */
const CHECKED_METHODS: ReadonlySet<string> = new Set(['prompts/get', 'completion/complete'])

/** Whether it cannot be repaired because it has so many members that their positions were not recorded. */
export function isUnrepairable(
  { resultMembers, shape, result }: Frame['envelope'],
  { method, era }: Pick<CleanAnswerOptions, 'method' | 'era'>,
): boolean {
  const isBare = era === 'legacy' && (shape & RESULT_SHAPE.bareValue) !== 0
  return result !== undefined && resultMembers === undefined && (isBare || CHECKED_METHODS.has(method))
}

function repairAnswer(frame: Frame, options: CleanAnswerOptions): Frame {
  const { reservedMembers = [], nullMembers = [], itemProblems = [] } = frame.envelope
  const { method, era, server, onReplaced } = options
  const problems = itemProblems.filter((problem) => appliesTo(problem, method))
  const { edits, cuts, replaced } = repairItems(problems, frame, server)
  for (const problem of replaced) onReplaced?.(problem)
  const ofMembers = repairMembers(frame, options)
  const nulls = nullMembers.filter(({ key }) => era === 'legacy' || key !== STRUCTURED_CONTENT)
  const written = [...edits, ...ofMembers.edits]
  const gone = [...written, ...cuts].filter(({ start, end }) => end > start)
  const own = reservedMembers.filter(({ start }) => !gone.some((span) => span.start <= start && start < span.end))
  const surplus = [...own, ...nulls, ...cuts, ...ofMembers.cuts]
  if (surplus.length === 0 && written.length === 0) return frame
  surplus.sort((one, other) => one.start - other.start)
  return editFrame(frame, [...toCutEdits(frame.parts, surplus), ...written])
}

/** The edits for members of a result other than its items. */
function repairMembers(
  { parts, envelope }: Frame,
  { method, era, takesAnyValue }: CleanAnswerOptions,
): { edits: Edit[]; cuts: Span[] } {
  const edits: Edit[] = []
  const cuts: Span[] = []
  for (const member of envelope.resultMembers ?? []) {
    const { key, value, end } = member
    if (key === 'description' && method === 'prompts/get') {
      if (byteAt(parts, value) !== QUOTE) cuts.push(member)
    } else if (key === 'completion' && method === 'completion/complete') {
      const had = JSON.parse(sliceBytes(parts, value, end).toString('utf8'))
      const has = sanitizeCompletion(had)
      if (has !== undefined && has !== had) edits.push({ start: value, end, text: toAsciiJson(stripReservedMeta(has)) })
    } else if (key === STRUCTURED_CONTENT && era === 'legacy' && !takesAnyValue && isBareValue(byteAt(parts, value)))
      edits.push({ start: value, end: value, text: '{"result":' }, { start: end, end, text: '}' })
  }
  return { edits, cuts }
}

/** A null is removed, and an object stays as it is. */
const isBareValue = (first: number | undefined): boolean => first !== OPEN_OBJECT && first !== LETTER_N

/** A task that was created instead of a result has no `content`. */
function lacksContent({ envelope: { result, shape } }: Frame): boolean {
  return result !== undefined && (shape & (RESULT_SHAPE.content | RESULT_SHAPE.task | RESULT_SHAPE.taskId)) === 0
}

function addContent(frame: Frame): Frame {
  const { result, resultMembers } = frame.envelope
  const at = (result?.start ?? 0) + 1
  const isEmpty = resultMembers === undefined ? nextByte(frame.parts, at) === 0x7d : resultMembers.length === 0
  const edited = editFrame(frame, [{ start: at, end: at, text: isEmpty ? EMPTY_CONTENT : `${EMPTY_CONTENT},` }])
  if (edited.envelope.resultMembers === undefined) return edited
  const added = { key: 'content', start: at, value: at + EMPTY_CONTENT.indexOf('['), end: at + EMPTY_CONTENT.length }
  return { ...edited, envelope: { ...edited.envelope, resultMembers: [added, ...edited.envelope.resultMembers] } }
}

/** Removes each member with one comma: the one after it, or for the last member the one before it. */
function toCutEdits(parts: readonly Buffer[], members: readonly Span[]): readonly Edit[] {
  const cuts: Edit[] = []
  for (const { start, end } of members) {
    const after = skipSpace(parts, end, 1)
    if (byteAt(parts, after) === COMMA) {
      cuts.push({ start, end: after + 1, text: '' })
      continue
    }
    // The member right before it may be removed too: then take the comma before that one.
    let from = start
    for (let last = cuts.at(-1); last && skipSpace(parts, from - 1, -1) < last.end; last = cuts.at(-1)) {
      from = last.start
      cuts.pop()
    }
    cuts.push({ start: includeComma(parts, from), end, text: '' })
  }
  return cuts
}

function includeComma(parts: readonly Buffer[], start: number): number {
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
  return sliceBytes(parts, at, at + 1)[0]
}

/**
 * The same message with some spans rewritten. The recorded positions are shifted, so that it need not be scanned again.
 */
function editFrame({ parts, envelope }: Frame, edits: readonly Edit[]): Frame {
  const pieces = splice(parts, edits).map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
  const shift = (at: number, of: 'value' | 'rest' = 'rest'): number => {
    let moved = at
    for (const { start, end, text } of edits)
      if (end <= at && !(of === 'value' && start === at)) moved += text.length - (end - start)
    return moved
  }
  const span = (noted: Span | undefined): Span | undefined =>
    noted && { start: shift(noted.start), end: shift(noted.end) }
  const member = ({ key, start, value, end }: JsonMember): JsonMember => ({
    key,
    start: shift(start),
    // Text that is inserted right before a value becomes a part of it.
    value: shift(value, 'value'),
    end: shift(end),
  })
  const isCut = (at: number): boolean => edits.some(({ start, end, text }) => text === '' && start <= at && at < end)
  const moved = {
    bytes: shift(envelope.bytes),
    id: span(envelope.id),
    result: span(envelope.result),
    error: span(envelope.error),
    serverInfo: span(envelope.serverInfo),
    modernHead: undefined,
    resultMembers: envelope.resultMembers?.filter(({ start }) => !isCut(start)).map(member),
    reservedMembers: undefined,
    nullMembers: undefined,
    itemProblems: undefined,
  }
  return { parts: pieces, envelope: { ...envelope, ...moved } }
}
