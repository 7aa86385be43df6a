import { isObjectAt, type JsonMember, listMembers, META } from '@sallyport/core'
import type { Edit } from '../upstream/upstream.ts'

/** A message, and where in it the members of its result stand. */
export interface ModernResult {
  readonly members: Iterable<JsonMember>
  /** What stands between two places, one character for each byte. */
  readonly read: (start: number, end: number) => string
}

export interface LegacyResult {
  /** In the order of their places. */
  readonly edits: readonly Edit[]
  /** What a legacy client cannot take: a `resultType`, as it was written. */
  readonly unsupported: string | undefined
}

/** Which values of `structuredContent` are put into an object: those that are none, all of them, or none at all. */
export type Wrapping = 'values' | 'always' | 'never'

/** What becomes of a member: it goes, or places in it are rewritten. */
type MemberAction = 'cut' | readonly Edit[]

const MODERN_ONLY: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope'])
const NO_CHANGE: readonly Edit[] = []
const MAX_SHOWN_LENGTH = 100
/** Only a key that stands many times can be treated so often, and only to keep us busy. */
const MAX_EDITS = 100

/** What makes a modern result one for a legacy client, whatever its size: little is cut out, and nothing is read. */
export function toLegacyResult(result: ModernResult, wrapping: Wrapping): LegacyResult {
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
