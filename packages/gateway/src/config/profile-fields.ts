import { closest } from '@sallyport/core'
import { joinKey } from './config-issue.ts'
import type { IssueLog } from './issue-log.ts'
import type { LocatedEntry, LocatedNode } from './located-tree.ts'
import type { ProfileSettings } from './settings.ts'

type ProfileFields = Omit<ProfileSettings, 'agent' | 'variant' | 'place'>

/** How a field is written, what it must be, and how it is read; undefined where it is not that. */
interface Field {
  readonly name: keyof ProfileFields
  readonly expected: string
  readonly read: (node: LocatedNode) => unknown
}

const FIELDS: Readonly<Record<string, Field>> = {
  client_approval: { name: 'clientApproval', expected: 'true or false', read: booleanIn },
  selected_mcp_tools: {
    name: 'selectedMcpTools',
    expected: 'a list of names, such as ["github/search", "!docs/delete_*"]',
    read: textsIn,
  },
  title: { name: 'title', expected: 'a text', read: textIn },
  token_budget: { name: 'tokenBudget', expected: 'a whole number of tokens above 0', read: countIn },
  session: { name: 'session', expected: 'a name of 1 to 256 printable characters', read: nameIn },
}

/** The fields of a variant that we know; all others are somebody else's. */
export function readProfileFields(members: readonly LocatedEntry[], path: string, log: IssueLog): ProfileFields {
  const fields: Record<string, unknown> = {}
  for (const { key, node, offset } of members) {
    const field = Object.hasOwn(FIELDS, key) ? FIELDS[key] : undefined
    if (field === undefined && isSelectionMeant(key))
      log.error({ offset, key: joinKey(path, key) }, `this key is not known. Did you mean "${SELECTION}"?`)
    if (field === undefined) continue
    const value = field.read(node)
    if (value === undefined) log.error({ offset, key: joinKey(path, key) }, `expected ${field.expected}.`)
    else fields[field.name] = value
  }
  return fields as unknown as ProfileFields
}

const SELECTION = 'selected_mcp_tools'

/** A slip in this key would give all tools. Other programs may have fields of their own here. */
const isSelectionMeant = (key: string): boolean => /tool/i.test(key) && closest(key, [SELECTION]) !== undefined

const scalarIn = (node: LocatedNode): unknown => (node.kind === 'scalar' ? node.value : undefined)

function booleanIn(node: LocatedNode): unknown {
  const value = scalarIn(node)
  return typeof value === 'boolean' ? value : undefined
}

function textIn(node: LocatedNode): unknown {
  const value = scalarIn(node)
  return typeof value === 'string' ? value : undefined
}

function nameIn(node: LocatedNode): unknown {
  const value = textIn(node)
  return typeof value === 'string' && /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u.test(value) && value.trim() !== ''
    ? value
    : undefined
}

function countIn(node: LocatedNode): unknown {
  const value = scalarIn(node)
  return Number.isSafeInteger(value) && (value as number) > 0 ? value : undefined
}

function textsIn(node: LocatedNode): unknown {
  if (node.kind !== 'list') return undefined
  const texts = node.items.map((item) => textIn(item.node))
  return texts.every((text) => text !== undefined) ? Object.freeze(texts) : undefined
}
