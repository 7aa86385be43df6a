import { useSyncExternalStore } from 'react'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'

type Sensitivity = NonNullable<RuledTool['sensitivity']>['value']

/** The fields that are edited here, with the type of their values. */
export interface RuleFields {
  readonly risk: RuledTool['risk']['value']
  readonly permission: RuledTool['permission']['value']
  readonly requiresApproval: boolean
  readonly sensitivity: Sensitivity
}

export type RuleField = keyof RuleFields

/** The new values of one tool. */
export type RuleEdit = Partial<RuleFields>

/** By the canonical name of the tool. */
export type RuleEdits = ReadonlyMap<string, RuleEdit>

const FILE_NAMES: Readonly<Record<RuleField, string>> = {
  risk: 'risk_level',
  permission: 'permission',
  requiresApproval: 'requires_approval',
  sensitivity: 'sensitivity',
}

/** Sets a field of some tools. What their entries say already is not an edit. */
export function setEdit(edits: RuleEdits, tools: readonly RuledTool[], edit: RuleEdit): RuleEdits {
  const next = new Map(edits)
  for (const tool of tools) {
    if (tool.entry === undefined) continue
    const merged = withoutWritten({ ...edits.get(tool.canonical), ...edit }, tool)
    if (Object.keys(merged).length === 0) next.delete(tool.canonical)
    else next.set(tool.canonical, merged)
  }
  return next
}

const withoutWritten = (edit: RuleEdit, tool: RuledTool): RuleEdit =>
  Object.fromEntries(
    (Object.entries(edit) as [RuleField, RuleFields[RuleField]][]).filter(
      ([field, value]) => tool[field]?.from !== 'entry' || String(tool[field]?.value) !== String(value),
    ),
  )

/** The edits as the API takes them. Edits of tools that are gone, or have no entry any more, are left out. */
export function toFileEdits(edits: RuleEdits, tools: readonly RuledTool[]) {
  return tools.flatMap(({ canonical, entry }) => {
    if (entry === undefined) return []
    const edit = Object.entries(edits.get(canonical) ?? {}) as [RuleField, RuleFields[RuleField]][]
    return edit.map(([field, value]) => ({ key: entry.key, field: FILE_NAMES[field], value: toFileValue(value) }))
  })
}

/** One permission is written as a word, several as a list. */
const toFileValue = (value: RuleFields[RuleField]): unknown =>
  Array.isArray(value) && value.length === 1 ? value[0] : value

/** What is left when these edits have been saved. */
export function dropEdits(saved: RuleEdits): void {
  const left = new Map<string, RuleEdit>()
  for (const [canonical, edit] of current) {
    const own = saved.get(canonical)
    const more = Object.entries(edit).filter(([field, value]) => own?.[field as RuleField] !== value)
    if (more.length > 0) left.set(canonical, Object.fromEntries(more))
  }
  replaceEdits(left)
}

// Outside of the screen: edits that are not saved are there again when somebody comes back to it.
let current: RuleEdits = new Map()
const listeners = new Set<() => void>()

export function replaceEdits(next: RuleEdits): void {
  current = next
  for (const listener of listeners) listener()
}

export const useRuleEdits = (): RuleEdits =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )
