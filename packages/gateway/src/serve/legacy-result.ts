import { META } from '@sallyport/core'
import { type JsonMember, jsonMembers, OPEN_OBJECT } from './json-members.ts'
import type { Edit } from './spliced.ts'

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
export function legacyResult(bytes: Buffer, at: number, wrapping: Wrapping): LegacyResult {
  const inner: Edit[] = []
  let foreign: string | undefined
  const isCut = (member: JsonMember): boolean => {
    if (member.key === 'resultType') foreign ??= foreignType(bytes, member)
    if (inner.length > 3 * MOST_CUTS) return false
    if (member.key === 'structuredContent' && isWrapped(bytes, member, wrapping)) inner.push(...wrapped(member))
    if (member.key !== '_meta') return MODERN_ONLY.has(member.key)
    const meta = metaEdits(bytes, member)
    inner.push(...(meta ?? []))
    return meta === undefined
  }
  const { edits, isEndless } = cutMembers(jsonMembers(bytes, at), isCut)
  if (isEndless || inner.length > 3 * MOST_CUTS) foreign ??= 'the same members over and over'
  return { edits: [...edits, ...inner], foreign }
}

function foreignType(bytes: Buffer, { value, end }: JsonMember): string | undefined {
  const text = bytes.toString('utf8', value, Math.min(end, value + TOLD_LENGTH))
  return text === '"complete"' ? undefined : text
}

function isWrapped(bytes: Buffer, { value }: JsonMember, wrapping: Wrapping): boolean {
  return wrapping === 'always' || (wrapping === 'values' && bytes[value] !== OPEN_OBJECT)
}

const wrapped = ({ value, end }: JsonMember): readonly Edit[] => [
  { start: value, end: value, text: '{"result":' },
  { start: end, end, text: '}' },
]

/** Nothing when nothing would be left of it, or nothing good. */
function metaEdits(bytes: Buffer, { value }: JsonMember): readonly Edit[] | undefined {
  if (bytes[value] !== OPEN_OBJECT) return undefined
  const { edits, isEmpty, isEndless } = cutMembers(jsonMembers(bytes, value), ({ key }) => key === META.serverInfo)
  return isEmpty || isEndless ? undefined : edits
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
