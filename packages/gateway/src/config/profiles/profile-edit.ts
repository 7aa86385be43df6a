import {
  addMembers,
  findMember,
  indentAt,
  isJsonObject,
  type Json,
  type JsonStyle,
  removeMember,
  replaceSpan,
  rootSpan,
  sameJson,
} from '@sallyport/core'
import { agentFileKey, agentSlug, foldVariant } from './profile-name.ts'

/** A change of a profile. `undefined` leaves a field as it is, `null` removes it from the file. */
export interface ProfileUpdate {
  readonly selectedMcpTools?: readonly string[] | null | undefined
  readonly title?: string | null | undefined
  readonly tokenBudget?: number | null | undefined
  readonly session?: string | null | undefined
  readonly clientApproval?: boolean | null | undefined
}

/** The name of a profile. */
export interface ProfileRef {
  readonly agent: string
  readonly variant: string
}

const FIELD_KEYS: Readonly<Record<keyof ProfileUpdate, string>> = {
  selectedMcpTools: 'selected_mcp_tools',
  title: 'title',
  tokenBudget: 'token_budget',
  session: 'session',
  clientApproval: 'client_approval',
}

/** Changes or creates one profile in the text of profiles.json. All other bytes stay the same. */
export function setProfile(text: string, ref: ProfileRef, update: ProfileUpdate): string {
  const path = pathOf(ref)
  let edited = text.trim() === '' ? EMPTY : text
  edited = hasMember(edited, path) ? edited : editJson(edited, path, {})
  for (const [name, value] of Object.entries(update) as [keyof ProfileUpdate, Json | undefined][]) {
    if (value === undefined) continue
    edited = editJson(edited, [...path, stepTo(FIELD_KEYS[name])], value ?? undefined)
  }
  return edited
}

/** `undefined` removes the selection from the file: then the default selection of the agent applies. */
export function setSelectedMcpTools(text: string, ref: ProfileRef, selectors: readonly string[] | undefined): string {
  return setProfile(text, ref, { selectedMcpTools: selectors ?? null })
}

export function removeProfile(text: string, ref: ProfileRef): string {
  return editJson(text, pathOf(ref), undefined)
}

const EMPTY = `{
  "executors": {}
}
`

const stepTo = (key: string): JsonStep => ({ key, is: (other) => other === key })

function pathOf({ agent, variant }: ProfileRef): readonly JsonStep[] {
  const slug = agentSlug(agent)
  const folded = foldVariant(variant)
  return [
    stepTo('executors'),
    { key: agentFileKey(slug), is: (key) => agentSlug(key) === slug },
    { key: folded.toUpperCase(), is: (key) => foldVariant(key) === folded },
  ]
}

/** If removing the member changes nothing, the text does not have it. */
const hasMember = (text: string, path: readonly JsonStep[]): boolean => editJson(text, path, undefined) !== text

/** Selects a member of an object. `key` is the name for a new member. */
interface JsonStep {
  readonly is: (key: string) => boolean
  readonly key: string
}

/**
 * Sets or removes one member at any depth and leaves all other bytes as they are. The text must be valid JSON, and every
 * value above the member must be an object or missing.
 */
function editJson(text: string, path: readonly JsonStep[], value: Json | undefined): string {
  let container = rootSpan(text)
  for (const [depth, step] of path.entries()) {
    const member = findMember(text, container.start, step.is)
    if (member === undefined) {
      if (value === undefined) return text
      const nested = path.slice(depth + 1).reduceRight<Json>((inner, { key }) => ({ [key]: inner }), value)
      return addMembers(text, container, { members: [{ key: step.key, value: nested }], style: detectStyle(text) })
    }
    const span = { start: member.value, end: member.end }
    if (depth < path.length - 1) container = span
    else if (value === undefined) return removeMember(text, container, member)
    else if (sameJson(JSON.parse(text.slice(span.start, span.end)) as Json, value)) return text
    else return replaceSpan(text, span, detectStyle(text).print(value, indentAt(text, member.start)))
  }
  return text
}

const MAX_WIDTH = 100

/** Uses several lines if the file does. A list stays on one line if it fits. */
function detectStyle(text: string): JsonStyle {
  if (!text.includes('\n')) return { print: formatInline, unit: '', fill: (source) => ` ${source} ` }
  const unit = /\n([\t ]+)/.exec(text)?.[1] ?? '  '
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  return {
    print: (value, indent) => {
      const short = formatInline(value)
      if (Array.isArray(value) && indent.length + short.length <= MAX_WIDTH) return short
      return JSON.stringify(value, undefined, unit).replaceAll('\n', `${newline}${indent}`)
    },
    unit,
    fill: (source, indent) => `${newline}${indent}${unit}${source}${newline}${indent}`,
  }
}

function formatInline(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(formatInline).join(', ')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}: ${formatInline(member ?? null)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
