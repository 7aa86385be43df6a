import { findClosest } from '@sallyport/core'
import { joinKey } from '../reading/config-issue.ts'
import type { IssueLog } from '../reading/issue-log.ts'
import type { LocatedEntry, LocatedNode } from '../reading/located-tree.ts'
import type { ProfileSettings } from '../settings.ts'

type ProfileFields = Omit<ProfileSettings, 'agent' | 'variant' | 'location'>

/** A field of a profile. `read` returns `undefined` if the value is not what was expected. */
interface Field {
  readonly name: keyof ProfileFields
  readonly expected: string
  readonly read: (node: LocatedNode) => unknown
}

const FIELDS: Readonly<Record<string, Field>> = {
  client_approval: { name: 'clientApproval', expected: 'true or false', read: readBoolean },
  selected_mcp_tools: {
    name: 'selectedMcpTools',
    expected: 'a list of names, such as ["github/search", "!docs/delete_*"]',
    read: readStrings,
  },
  title: { name: 'title', expected: 'a string', read: readString },
  token_budget: { name: 'tokenBudget', expected: 'a whole number of tokens above 0', read: readCount },
  session: { name: 'session', expected: 'a name of 1 to 256 printable characters', read: readName },
}

/** Reads the known fields of a variant. Other fields belong to other programs and are ignored. */
export function readProfileFields(members: readonly LocatedEntry[], path: string, log: IssueLog): ProfileFields {
  const fields: Record<string, unknown> = {}
  for (const { key, node, offset } of members) {
    const field = Object.hasOwn(FIELDS, key) ? FIELDS[key] : undefined
    if (field === undefined && looksLikeSelection(key))
      log.error({ offset, key: joinKey(path, key) }, `this key is not known. Did you mean "${SELECTION}"?`)
    if (field === undefined) continue
    const value = field.read(node)
    if (value === undefined) log.error({ offset, key: joinKey(path, key) }, `expected ${field.expected}.`)
    else fields[field.name] = value
  }
  return fields as unknown as ProfileFields
}

const SELECTION = 'selected_mcp_tools'

/** If this key is misspelt, the profile would get all tools. Other programs may have their own fields here. */
const looksLikeSelection = (key: string): boolean => /tool/i.test(key) && findClosest(key, [SELECTION]) !== undefined

const readScalar = (node: LocatedNode): unknown => (node.kind === 'scalar' ? node.value : undefined)

function readBoolean(node: LocatedNode): unknown {
  const value = readScalar(node)
  return typeof value === 'boolean' ? value : undefined
}

function readString(node: LocatedNode): unknown {
  const value = readScalar(node)
  return typeof value === 'string' ? value : undefined
}

function readName(node: LocatedNode): unknown {
  const value = readString(node)
  return typeof value === 'string' && /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u.test(value) && value.trim() !== ''
    ? value
    : undefined
}

function readCount(node: LocatedNode): unknown {
  const value = readScalar(node)
  return Number.isSafeInteger(value) && (value as number) > 0 ? value : undefined
}

function readStrings(node: LocatedNode): unknown {
  if (node.kind !== 'list') return undefined
  const strings = node.items.map((item) => readString(item.node))
  return strings.every((value) => value !== undefined) ? Object.freeze(strings) : undefined
}
