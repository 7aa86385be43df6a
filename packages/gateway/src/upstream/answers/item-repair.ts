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

/** The changes for the items of a result that the protocol does not allow. */
export interface ItemRepair {
  /** Replaced blocks and messages, and members that are rewritten. */
  readonly edits: readonly Edit[]
  /** Optional members that are removed. */
  readonly cuts: readonly Span[]
  /** For each replaced item: its path and the reason. */
  readonly replaced: readonly string[]
}

/** A larger member is removed without parsing it. */
const MAX_CHECKED_BYTES = 65_536
const NOT_ASCII = /[\u0080-\uffff]/g

/** Which members of a result contain the items of each method; elsewhere such a member is an unknown field. */
const ITEM_LISTS: ReadonlyMap<string, string> = new Map([
  ['prompts/get', 'messages['],
  ['resources/read', 'contents['],
  ['completion/complete', 'completion['],
])
const DEFAULT_LIST = 'content['

/** Whether this problem concerns an answer to that method. */
export function appliesTo({ path }: ItemProblem, method: string): boolean {
  return path === '_meta' || path.startsWith(ITEM_LISTS.get(method) ?? DEFAULT_LIST)
}

export function repairItems(
  problems: readonly ItemProblem[],
  { parts }: Pick<Frame, 'parts'>,
  server: string,
): ItemRepair {
  const edits: Edit[] = []
  const cuts: Span[] = []
  const replaced: string[] = []
  for (const item of problems) {
    const { start, end, action, path, requirement } = item
    if (action === 'cut') cuts.push(item)
    else if (action === 'check') {
      const text = repairMember(parts, item)
      if (text === undefined) cuts.push(item)
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

/** Models and people read it in place of the block. */
function createPlaceholder(action: ItemProblem['action'], text: string): Json {
  const block = { type: 'text', text }
  return action === 'replace-message' ? { role: 'user', content: block } : block
}

/** The member in its allowed form; empty if it is unchanged; `undefined` if it must be removed. */
function repairMember(parts: readonly Buffer[], { start, end }: Span): string | undefined {
  if (end - start > MAX_CHECKED_BYTES) return undefined
  const member: unknown = JSON.parse(`{${sliceBytes(parts, start, end).toString('utf8')}}`)
  const [name, had] = (isJsonObject(member) ? Object.entries(member)[0] : undefined) ?? []
  if (name === undefined || had === undefined) return undefined
  const has = MEMBER_SANITIZERS.get(name)?.(had)
  if (has === undefined || has === had) return has === undefined ? undefined : ''
  return `${JSON.stringify(name)}:${toAsciiJson(stripReservedMeta(has))}`
}

/** Positions in an answer are counted in bytes, and an ASCII character is one byte. */
export const toAsciiJson = (value: Json): string =>
  JSON.stringify(value).replace(NOT_ASCII, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
