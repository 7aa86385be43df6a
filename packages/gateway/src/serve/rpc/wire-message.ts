import {
  type Era,
  isObjectAt,
  type Json,
  type JsonMember,
  type JsonObject,
  listMembers,
  META,
  SallyportError,
} from '@sallyport/core'
import { type Edit, type Frame, sliceBytes, splice } from '../../upstream/upstream.ts'

/** A JSON-RPC message on one line, in pieces that are written one after the other. */
export type WireMessage = readonly (string | Buffer)[]

export function messageBytes(message: WireMessage): number {
  let bytes = 0
  for (const piece of message) bytes += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  return bytes
}

/** The bytes of a piece, one character each. */
export function asLatin1(piece: string | Buffer): string {
  if (typeof piece !== 'string') return piece.toString('latin1')
  // Most are an id between two of our own words.
  return Buffer.byteLength(piece) === piece.length ? piece : Buffer.from(piece).toString('latin1')
}

export function resultMessage(id: Json, result: JsonObject): WireMessage {
  return [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result)}}`]
}

/** With a result that is printed already. */
export function preserializedMessage(id: Json, result: readonly (string | Buffer)[]): WireMessage {
  return [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`, ...result, '}']
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

const NO_EDITS: readonly Edit[] = []
const SERVER_INFO = `${JSON.stringify(META.serverInfo)}:`

export interface RelayContext {
  readonly id: Json
  readonly method: string
  readonly from: Era
  readonly to: Era
  /** Who we are, as JSON: a modern server names itself in its results, and to its clients we are the server. */
  readonly serverInfo: string
  /** Legacy clients were shown a schema of their own for the output of this tool. */
  readonly hasWrappedOutput?: boolean
}

/** A server's answer under the client's own id: its bytes as they came, wherever the eras leave them as they are. */
export function relayedMessage(frame: Frame, relay: RelayContext): WireMessage {
  const { envelope } = frame
  if (relay.from !== relay.to && envelope.result && !isObject(frame.parts, envelope.result.start))
    return errorMessage(relay.id, { code: -32603, message: 'The server answered with a result that is no object.' })
  if (!envelope.id) throw new SallyportError('INTERNAL', 'An answer without an id was matched to a call.')
  const parts = envelope.hasLineBreaks ? frame.parts.map(withoutLineBreaks) : frame.parts
  const renamed = { start: envelope.id.start, end: envelope.id.end, text: JSON.stringify(relay.id) }
  if (relay.from === relay.to)
    return splice(parts, [renamed, ...completionEdits(frame, relay), ...serverInfoEdits(frame, relay)])
  if (relay.from === 'modern') return toLegacyMessage({ parts, envelope }, relay, renamed)
  return splice(parts, [renamed, ...modernEdits(frame, relay.method), ...serverInfoEdits(frame, relay)])
}

/** A server of the modern era must say that a result is complete, and clients throw away one that does not. */
function completionEdits(frame: Frame, { to, method }: RelayContext): readonly Edit[] {
  const { result, resultType } = frame.envelope
  if (to !== 'modern' || !result) return NO_EDITS
  if (resultType === undefined) return [resultTypeEdit(frame, method)]
  return method === 'resources/read' && resultType === 'complete' ? cachingEdits(frame, result.start + 1) : NO_EDITS
}

/** What it says of caching itself comes later and counts. */
function cachingEdits({ envelope: { resultMembers = [] } }: Frame, at: number): readonly Edit[] {
  const has = (name: string): boolean => resultMembers.some(({ key }) => key === name)
  if (resultMembers.length === 0 || (has('ttlMs') && has('cacheScope'))) return NO_EDITS
  return [{ start: at, end: at, text: '"ttlMs":0,"cacheScope":"private",' }]
}

/** Nobody but us is the server that the client speaks to. */
function serverInfoEdits({ envelope: { serverInfo } }: Frame, relay: RelayContext): readonly Edit[] {
  return serverInfo ? [{ ...serverInfo, text: `${SERVER_INFO}${relay.serverInfo}` }] : NO_EDITS
}

/** What the modern era adds to a result means nothing to a legacy client. */
function toLegacyMessage(frame: Frame, { id, method, hasWrappedOutput }: RelayContext, renamed: Edit): WireMessage {
  const { result, resultMembers } = frame.envelope
  if (!result) return splice(frame.parts, [renamed])
  const { parts, begin, modern } = resultMembers
    ? readInPieces(frame, resultMembers, renamed)
    : readInOnePiece(frame, result.start, renamed)
  const wrapping = method !== 'tools/call' ? 'never' : hasWrappedOutput ? 'always' : 'values'
  const { edits, unsupported } = toLegacyResult(modern, wrapping)
  if (unsupported === undefined) return splice(parts, [begin, ...edits])
  return errorMessage(id, {
    code: -32603,
    message: `The server answered with ${unsupported}, which this client cannot take.`,
  })
}

interface ModernSource {
  readonly parts: readonly Buffer[]
  readonly modern: ModernResult
  /** Gives it the client's id. */
  readonly begin: Edit
}

/** A large result is not gone through again, and stays in the pieces in which it came. */
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

/** What nearly every server writes before the members of a result is one text with the client's id, not three pieces. */
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

/** The legacy era has a code of its own for a resource that is not there. */
function unknownResourceEdits({ parts }: Frame, at: number): readonly Edit[] {
  const text = Buffer.concat(parts).toString('latin1')
  if (!isObjectAt(text, at)) return []
  return [...listMembers(text, at)]
    .filter(({ key, value, end }) => key === 'code' && text.slice(value, end) === '-32002')
    .map(({ value, end }) => ({ start: value, end, text: '-32602' }))
}

/** In the modern era a result says that it is complete, and one that can be cached for how long. */
function resultTypeEdit({ parts, envelope }: Frame, method: string) {
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

const isObject = (parts: readonly Buffer[], from: number): boolean => firstCharacter(parts, from) === '{'

const isEmptyObject = (parts: readonly Buffer[], from: number): boolean => firstCharacter(parts, from) === '}'

/** The first byte from there on that is not white space, as a character. */
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

/** A message, and where in it the members of its result stand. */
interface ModernResult {
  readonly members: Iterable<JsonMember>
  /** What stands between two places, one character for each byte. */
  readonly read: (start: number, end: number) => string
}

interface LegacyResult {
  /** In the order of their places. */
  readonly edits: readonly Edit[]
  /** What a legacy client cannot take: a `resultType`, as it was written. */
  readonly unsupported: string | undefined
}

/** Which values of `structuredContent` are put into an object: those that are none, all of them, or none at all. */
type Wrapping = 'values' | 'always' | 'never'

/** What becomes of a member: it goes, or places in it are rewritten. */
type MemberAction = 'cut' | readonly Edit[]

const MODERN_ONLY: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope'])
const NO_CHANGE: readonly Edit[] = []
const MAX_SHOWN_LENGTH = 100
/** Only a key that stands many times can be treated so often, and only to keep us busy. */
const MAX_EDITS = 100

/** What makes a modern result one for a legacy client, whatever its size: little is cut out, and nothing is read. */
function toLegacyResult(result: ModernResult, wrapping: Wrapping): LegacyResult {
  let unsupported: string | undefined
  const treat = (member: JsonMember): MemberAction => {
    if (member.key === 'resultType') unsupported ??= findUnsupportedType(result, member)
    if (MODERN_ONLY.has(member.key)) return 'cut'
    if (member.key === '_meta') return editMeta(result, member)
    return member.key === 'structuredContent' && needsWrapping(result, member, wrapping) ? wrapEdits(member) : NO_CHANGE
  }
  const { edits, isEndless } = editMembers(result.members, treat)
  if (isEndless) unsupported ??= 'the same members over and over'
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

/** It goes when nothing would be left of it, or nothing good. */
function editMeta({ read }: ModernResult, { value, end }: JsonMember): MemberAction {
  const meta = read(value, end)
  if (!isObjectAt(meta, 0)) return 'cut'
  const treat = ({ key }: JsonMember): MemberAction => (key === META.serverInfo ? 'cut' : NO_CHANGE)
  const { edits, isEmpty, isEndless } = editMembers(listMembers(meta, 0), treat)
  if (isEmpty || isEndless) return 'cut'
  return edits.map((edit) => ({ ...edit, start: value + edit.start, end: value + edit.end }))
}

/** Treats the members of an object; each that is cut goes with one comma. */
function editMembers(members: Iterable<JsonMember>, treat: (member: JsonMember) => MemberAction) {
  const edits: Edit[] = []
  let kept: JsonMember | undefined
  let run: { readonly start: number; readonly end: number } | undefined
  for (const member of members) {
    if (edits.length > MAX_EDITS) return { edits, isEmpty: false, isEndless: true }
    const treatment = treat(member)
    if (treatment === 'cut') {
      run = { start: run?.start ?? member.start, end: member.end }
      continue
    }
    if (run) edits.push({ start: run.start, end: member.start, text: '' })
    edits.push(...treatment)
    run = undefined
    kept = member
  }
  if (run) edits.push({ start: kept?.end ?? run.start, end: run.end, text: '' })
  return { edits, isEmpty: kept === undefined, isEndless: false }
}
