import { type JsonMember, META } from '@sallyport/core'
import { jsonMembers, OPEN_OBJECT } from './json-members.ts'
import { bytesOf, type Edit } from './spliced.ts'

/** A message, and where in it the members of its result stand. */
export interface ModernResult {
  readonly parts: readonly Buffer[]
  readonly members: Iterable<JsonMember>
}

export interface LegacyResult {
  readonly edits: readonly Edit[]
  /** What a legacy client cannot take: a `resultType`, as it was written. */
  readonly foreign: string | undefined
}

/** Which values of `structuredContent` are put into an object: those that are none, all of them, or none at all. */
export type Wrapping = 'values' | 'always' | 'never'

const MODERN_ONLY: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope'])
const TOLD_LENGTH = 100
/** Only a key that stands many times can be cut so often, and only to keep us busy. */
const MOST_CUTS = 100

/** What makes a modern result one for a legacy client, whatever its size: little is cut out, and nothing is read. */
export function legacyResult({ parts, members }: ModernResult, wrapping: Wrapping): LegacyResult {
  const inner: Edit[] = []
  let foreign: string | undefined
  const isCut = (member: JsonMember): boolean => {
    if (member.key === 'resultType') foreign ??= foreignType(parts, member)
    if (inner.length > 3 * MOST_CUTS) return false
    if (member.key === 'structuredContent' && isWrapped(parts, member, wrapping)) inner.push(...wrapped(member))
    if (member.key !== '_meta') return MODERN_ONLY.has(member.key)
    const meta = metaEdits(parts, member)
    inner.push(...(meta ?? []))
    return meta === undefined
  }
  const { edits, isEndless } = cutMembers(members, isCut)
  if (isEndless || inner.length > 3 * MOST_CUTS) foreign ??= 'the same members over and over'
  return { edits: [...edits, ...inner], foreign }
}

function foreignType(parts: readonly Buffer[], { value, end }: JsonMember): string | undefined {
  const text = bytesOf(parts, value, Math.min(end, value + TOLD_LENGTH)).toString()
  return text === '"complete"' ? undefined : text
}

function isWrapped(parts: readonly Buffer[], { value }: JsonMember, wrapping: Wrapping): boolean {
  return wrapping === 'always' || (wrapping === 'values' && bytesOf(parts, value, value + 1)[0] !== OPEN_OBJECT)
}

const wrapped = ({ value, end }: JsonMember): readonly Edit[] => [
  { start: value, end: value, text: '{"result":' },
  { start: end, end, text: '}' },
]

/** Nothing when nothing would be left of it, or nothing good. */
function metaEdits(parts: readonly Buffer[], { value, end }: JsonMember): readonly Edit[] | undefined {
  const meta = bytesOf(parts, value, end)
  if (meta[0] !== OPEN_OBJECT) return undefined
  const { edits, isEmpty, isEndless } = cutMembers(jsonMembers(meta, 0), ({ key }) => key === META.serverInfo)
  if (isEmpty || isEndless) return undefined
  return edits.map((edit) => ({ ...edit, start: value + edit.start, end: value + edit.end }))
}

/** Cuts members out of an object, each with one comma. */
function cutMembers(members: Iterable<JsonMember>, isCut: (member: JsonMember) => boolean) {
  const edits: Edit[] = []
  let kept: JsonMember | undefined
  let run: { readonly start: number; readonly end: number } | undefined
  for (const member of members) {
    if (edits.length > MOST_CUTS) return { edits, isEmpty: false, isEndless: true }
    if (isCut(member)) {
      run = { start: run?.start ?? member.start, end: member.end }
      continue
    }
    if (run) edits.push({ start: run.start, end: member.start, text: '' })
    run = undefined
    kept = member
  }
  if (run) edits.push({ start: kept?.end ?? run.start, end: run.end, text: '' })
  return { edits, isEmpty: kept === undefined, isEndless: false }
}
