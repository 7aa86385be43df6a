import {
  type ItemProblem,
  isJsonObject,
  type Json,
  MEMBER_SANITIZERS,
  type Span,
  stripReservedMeta,
} from '@sallyport/core'
import type { Frame } from '../transport.ts'
import { type Edit, sliceBytes } from './splice.ts'

/** What is done about the items of a result that the protocol does not allow. */
export interface ItemRepair {
  /** Replaced blocks and messages, and members that are written anew. */
  readonly edits: readonly Edit[]
  /** Optional members that go. */
  readonly cuts: readonly Span[]
  /** Of each replaced item: which one, and why. */
  readonly replaced: readonly string[]
}

/** A member of more is not worth being parsed. */
const MAX_CHECKED_BYTES = 65_536
const NOT_ASCII = /[\u0080-\uffff]/g

/** Which members of a result hold the items of each method; elsewhere such a member is an unknown field. */
const ITEM_LISTS: ReadonlyMap<string, string> = new Map([
  ['prompts/get', 'messages['],
  ['resources/read', 'contents['],
  ['completion/complete', 'completion['],
])
const DEFAULT_LIST = 'content['

/** Whether this concerns an answer to that method. */
export function appliesTo({ path }: ItemProblem, method: string): boolean {
  return path === '_meta' || path.startsWith(ITEM_LISTS.get(method) ?? DEFAULT_LIST)
}

export function repairItems(
  flaws: readonly ItemProblem[],
  { parts }: Pick<Frame, 'parts'>,
  server: string,
): ItemRepair {
  const edits: Edit[] = []
  const cuts: Span[] = []
  const replaced: string[] = []
  for (const flaw of flaws) {
    const { start, end, action, path, requirement } = flaw
    if (action === 'cut') cuts.push(flaw)
    else if (action === 'check') {
      const text = repairMember(parts, flaw)
      if (text === undefined) cuts.push(flaw)
      else if (text !== '') edits.push({ start, end, text })
    } else {
      const problem = `${path}: ${requirement}`
      replaced.push(problem)
      edits.push({
        start,
        end,
        text: JSON.stringify(createPlaceholder(action, `[The server "${server}" sent an invalid ${problem}.]`)),
      })
    }
  }
  return { edits, cuts, replaced }
}

/** Models and people read it where the block would have been. */
function createPlaceholder(action: ItemProblem['action'], text: string): Json {
  const block = { type: 'text', text }
  return action === 'replace-message' ? { role: 'user', content: block } : block
}

/** The member as it is allowed, empty where it is as it was; undefined where it has to go. */
function repairMember(parts: readonly Buffer[], { start, end }: Span): string | undefined {
  if (end - start > MAX_CHECKED_BYTES) return undefined
  const member: unknown = JSON.parse(`{${sliceBytes(parts, start, end).toString('utf8')}}`)
  const [name, had] = (isJsonObject(member) ? Object.entries(member)[0] : undefined) ?? []
  if (name === undefined || had === undefined) return undefined
  const has = MEMBER_SANITIZERS.get(name)?.(had)
  if (has === undefined || has === had) return has === undefined ? undefined : ''
  return `${JSON.stringify(name)}:${toAsciiJson(stripReservedMeta(has))}`
}

/** Places in an answer are counted in bytes, and a character of ASCII is one. */
export const toAsciiJson = (value: Json): string =>
  JSON.stringify(value).replace(NOT_ASCII, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
