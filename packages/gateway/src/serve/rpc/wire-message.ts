import {
  type Era,
  isObjectAt,
  type Json,
  type JsonMember,
  type JsonObject,
  listMembers,
  META,
  SallyportError,
  type Span,
} from '@sallyport/core'
import { type Edit, type Frame, sliceBytes, splice } from '../../upstream/upstream.ts'
import { printId, printNotification } from './request-id.ts'

/** A JSON-RPC message on one line, in pieces that are written in order. */
export type WireMessage = readonly (string | Buffer)[]

export function messageBytes(message: WireMessage): number {
  let bytes = 0
  for (const piece of message) bytes += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  return bytes
}

/** The bytes of a piece, one character each. */
export function asLatin1(piece: string | Buffer): string {
  if (typeof piece !== 'string') return piece.toString('latin1')
  // Most strings are ASCII and need no conversion.
  return Buffer.byteLength(piece) === piece.length ? piece : Buffer.from(piece).toString('latin1')
}

export function resultMessage(id: Json, result: JsonObject): WireMessage {
  return [`{"jsonrpc":"2.0","id":${printId(id)},"result":${JSON.stringify(result)}}`]
}

/** For a result that is already serialized. */
export function preserializedMessage(id: Json, result: readonly (string | Buffer)[]): WireMessage {
  return [`{"jsonrpc":"2.0","id":${printId(id)},"result":`, ...result, '}']
}

export interface RpcFailure {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

export function errorMessage(id: Json | undefined, error: RpcFailure): WireMessage {
  return [`{"jsonrpc":"2.0","id":${printId(id ?? null)},"error":${JSON.stringify(error)}}`]
}

export function notificationMessage(notification: JsonObject): WireMessage {
  return [printNotification(notification)]
}

const NO_EDITS: readonly Edit[] = []
const SERVER_INFO = `${JSON.stringify(META.serverInfo)}:`

export interface RelayContext {
  readonly id: Json
  readonly method: string
  readonly from: Era
  readonly to: Era
  /** Our server info as JSON: a modern server names itself in its results, and for clients the gateway is the server. */
  readonly serverInfo: string
  /** Legacy clients see a wrapped output schema for this tool. */
  readonly hasWrappedOutput?: boolean
}

/** A server's answer with the client's id. All other bytes stay unchanged, unless the eras differ. */
export function relayedMessage(frame: Frame, relay: RelayContext): WireMessage {
  const { envelope } = frame
  if (relay.from !== relay.to && envelope.result && !isObject(frame.parts, envelope.result.start))
    return errorMessage(relay.id, { code: -32603, message: 'The server answered with a result that is not an object.' })
  if (!envelope.id) throw new SallyportError('INTERNAL', 'An answer without an id was matched to a call.')
  const parts = envelope.hasLineBreaks ? frame.parts.map(withoutLineBreaks) : frame.parts
  const renamed = { start: envelope.id.start, end: envelope.id.end, text: printId(relay.id) }
  if (relay.from === 'modern' && relay.to === 'legacy') return toLegacyMessage({ parts, envelope }, relay, renamed)
  const edits: Edit[] = [renamed]
  const added = relay.from === relay.to ? completionEdits(frame, relay) : modernEdits(frame, relay.method)
  if (added.length > 0) edits.push(...added)
  if (envelope.serverInfo) edits.push(serverInfoEdit(envelope.serverInfo, relay))
  return splice(parts, edits)
}

/** In the modern era a result must have a `resultType`; clients reject one without it. */
function completionEdits(frame: Frame, { to, method }: RelayContext): readonly Edit[] {
  const { result, resultType } = frame.envelope
  if (to !== 'modern' || !result) return NO_EDITS
  if (resultType === undefined) return [resultTypeEdit(frame, method)]
  return method === 'resources/read' && resultType === 'complete' ? cachingEdits(frame, result.start + 1) : NO_EDITS
}

/** Adds caching members. The server's own ones, if any, come later in the object and take precedence. */
function cachingEdits({ envelope: { resultMembers = [] } }: Frame, at: number): readonly Edit[] {
  const has = (name: string): boolean => resultMembers.some(({ key }) => key === name)
  if (resultMembers.length === 0 || (has('ttlMs') && has('cacheScope'))) return NO_EDITS
  return [{ start: at, end: at, text: '"ttlMs":0,"cacheScope":"private",' }]
}

/** For the client, the gateway is the server. */
const serverInfoEdit = ({ start, end }: Span, { serverInfo }: RelayContext): Edit => ({
  start,
  end,
  text: SERVER_INFO + serverInfo,
})

/** Removes what the modern era adds to a result. */
function toLegacyMessage(frame: Frame, { id, method, hasWrappedOutput }: RelayContext, renamed: Edit): WireMessage {
  const { result, resultMembers, modernHead } = frame.envelope
  if (!result) return splice(frame.parts, [renamed])
  // Written out here and below: an edit that is made by spreading costs more than the whole splice.
  if (modernHead) return splice(frame.parts, [renamed, { start: modernHead.start, end: modernHead.end, text: '' }])
  const { parts, begin, modern } = resultMembers
    ? readInPieces(frame, resultMembers, renamed)
    : readInOnePiece(frame, result.start, renamed)
  const wrapping = method !== 'tools/call' ? 'never' : hasWrappedOutput ? 'always' : 'values'
  const { edits, unsupported } = toLegacyResult(modern, wrapping)
  if (unsupported === undefined) return splice(parts, [begin, ...edits])
  return errorMessage(id, {
    code: -32603,
    message: `The server answered with ${unsupported}, which this client does not support.`,
  })
}

interface ModernSource {
  readonly parts: readonly Buffer[]
  readonly modern: ModernResult
  /** Sets the client's id. */
  readonly begin: Edit
}

/** A large result is not scanned again, and stays in the pieces in which it was received. */
function readInPieces({ parts }: Frame, members: readonly JsonMember[], begin: Edit): ModernSource {
  const read = (start: number, end: number): string => sliceBytes(parts, start, end).toString('latin1')
  return { parts, modern: { members, read }, begin }
}

function readInOnePiece({ parts, envelope }: Frame, at: number, renamed: Edit): ModernSource {
  const bytes = sliceBytes(parts, 0, envelope.bytes)
  const text = bytes.toString('latin1')
  const modern = { members: listMembers(text, at), read: (start: number, end: number) => text.slice(start, end) }
  return { parts: [bytes], modern, begin: usualHeadEdit(text, at, renamed) ?? renamed }
}

const BEFORE_ID = '{"jsonrpc":"2.0","id":'
const BEFORE_RESULT = ',"result":{'

/** Nearly every server writes the same text before the result: then one edit with the client's id replaces all of it. */
function usualHeadEdit(text: string, at: number, { start, end, text: id }: Edit): Edit | undefined {
  if (start !== BEFORE_ID.length || end + BEFORE_RESULT.length !== at + 1) return undefined
  if (!text.startsWith(BEFORE_ID) || !text.startsWith(BEFORE_RESULT, end)) return undefined
  return { start: 0, end: at + 1, text: BEFORE_ID + id + BEFORE_RESULT }
}

function modernEdits(frame: Frame, method: string): readonly Edit[] {
  const { result, error, resultType } = frame.envelope
  if (error && method === 'resources/read') return unknownResourceEdits(frame, error.start)
  return result && resultType === undefined ? [resultTypeEdit(frame, method)] : []
}

/** The legacy era has its own code for a missing resource. */
function unknownResourceEdits({ parts }: Frame, at: number): readonly Edit[] {
  const text = Buffer.concat(parts).toString('latin1')
  if (!isObjectAt(text, at)) return []
  return [...listMembers(text, at)]
    .filter(({ key, value, end }) => key === 'code' && text.slice(value, end) === '-32002')
    .map(({ value, end }) => ({ start: value, end, text: '-32602' }))
}

/** In the modern era a result has a `resultType`, and a cacheable one its lifetime. */
function resultTypeEdit({ parts, envelope }: Frame, method: string) {
  const at = (envelope.result?.start ?? 0) + 1
  const fields =
    method === 'resources/read' ? '"resultType":"complete","ttlMs":0,"cacheScope":"private"' : '"resultType":"complete"'
  const empty = isEmptyObject(parts, at)
  return { start: at, end: at, text: empty ? fields : `${fields},` }
}

/** Line breaks can only be between tokens, so spaces can replace them; the other bytes must not change. */
function withoutLineBreaks(part: Buffer): Buffer {
  const copy = Buffer.from(part)
  for (let at = 0; at < copy.length; at++) if (copy[at] === 0x0a || copy[at] === 0x0d) copy[at] = 0x20
  return copy
}

const isObject = (parts: readonly Buffer[], from: number): boolean => firstCharacter(parts, from) === '{'

const isEmptyObject = (parts: readonly Buffer[], from: number): boolean => firstCharacter(parts, from) === '}'

/** The first non-whitespace byte at or after `from`, as a character. */
function firstCharacter(parts: readonly Buffer[], from: number): string | undefined {
  let offset = from
  for (const part of parts) {
    for (; offset < part.length; offset++) {
      const byte = part[offset] as number
      if (byte > 0x20) return String.fromCharCode(byte)
    }
    offset -= part.length
  }
  return undefined
}

/** A message, and the positions of the members of its result. */
interface ModernResult {
  readonly members: Iterable<JsonMember>
  /** The text between two positions, one character per byte. */
  readonly read: (start: number, end: number) => string
}

interface LegacyResult {
  /** In order of position. */
  readonly edits: readonly Edit[]
  /** What a legacy client does not support: a `resultType`, as it was written. */
  readonly unsupported: string | undefined
}

/** Which values of `structuredContent` are wrapped in an object: those that are not objects, all, or none. */
type Wrapping = 'values' | 'always' | 'never'

/** What to do with a member: remove it, or apply edits to it. */
type MemberAction = 'cut' | readonly Edit[]

const MODERN_ONLY: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope'])
const NO_CHANGE: readonly Edit[] = []
const MAX_SHOWN_LENGTH = 100
/** Only duplicate keys, sent to waste our time, can need more edits. */
const MAX_EDITS = 100

/** Converts a modern result for a legacy client with few edits and without parsing it, whatever its size. */
function toLegacyResult(result: ModernResult, wrapping: Wrapping): LegacyResult {
  let unsupported: string | undefined
  const decide = (member: JsonMember): MemberAction => {
    if (member.key === 'resultType') unsupported ??= findUnsupportedType(result, member)
    if (MODERN_ONLY.has(member.key)) return 'cut'
    if (member.key === '_meta') return editMeta(result, member)
    return member.key === 'structuredContent' && needsWrapping(result, member, wrapping) ? wrapEdits(member) : NO_CHANGE
  }
  const { edits, exceedsLimit } = editMembers(result.members, decide)
  if (exceedsLimit) unsupported ??= 'too many repeated members'
  return { edits, unsupported }
}

function findUnsupportedType({ read }: ModernResult, { value, end }: JsonMember): string | undefined {
  const text = read(value, Math.min(end, value + MAX_SHOWN_LENGTH))
  return text === '"complete"' ? undefined : Buffer.from(text, 'latin1').toString()
}

function needsWrapping({ read }: ModernResult, { value }: JsonMember, wrapping: Wrapping): boolean {
  return wrapping === 'always' || (wrapping === 'values' && !isObjectAt(read(value, value + 1), 0))
}

const wrapEdits = ({ value, end }: JsonMember): readonly Edit[] => [
  { start: value, end: value, text: '{"result":' },
  { start: end, end, text: '}' },
]

/** Removes `_meta` if it would become empty, or is not valid. */
function editMeta({ read }: ModernResult, { value, end }: JsonMember): MemberAction {
  const meta = read(value, end)
  if (!isObjectAt(meta, 0)) return 'cut'
  const decide = ({ key }: JsonMember): MemberAction => (key === META.serverInfo ? 'cut' : NO_CHANGE)
  const { edits, isEmpty, exceedsLimit } = editMembers(listMembers(meta, 0), decide)
  if (isEmpty || exceedsLimit) return 'cut'
  return edits.map((edit) => ({ ...edit, start: value + edit.start, end: value + edit.end }))
}

/** Edits the members of an object; a removed member takes one comma with it. */
function editMembers(members: Iterable<JsonMember>, decide: (member: JsonMember) => MemberAction) {
  const edits: Edit[] = []
  let lastKept: JsonMember | undefined
  let run: { readonly start: number; readonly end: number } | undefined
  for (const member of members) {
    if (edits.length > MAX_EDITS) return { edits, isEmpty: false, exceedsLimit: true }
    const action = decide(member)
    if (action === 'cut') {
      run = { start: run?.start ?? member.start, end: member.end }
      continue
    }
    if (run) edits.push({ start: run.start, end: member.start, text: '' })
    edits.push(...action)
    run = undefined
    lastKept = member
  }
  if (run) edits.push({ start: lastKept?.end ?? run.start, end: run.end, text: '' })
  return { edits, isEmpty: lastKept === undefined, exceedsLimit: false }
}
