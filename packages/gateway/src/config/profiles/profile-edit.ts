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

/** What a person wants of a profile. Undefined leaves a field as it is, null takes it out of the file. */
export interface ProfileUpdate {
  readonly selectedMcpTools?: readonly string[] | null | undefined
  readonly title?: string | null | undefined
  readonly tokenBudget?: number | null | undefined
  readonly session?: string | null | undefined
  readonly clientApproval?: boolean | null | undefined
}

/** A profile by its names. */
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

/** The text of profiles.json with one profile as wished; it is made where there is none. All else stays byte for byte. */
export function setProfile(text: string, ref: ProfileRef, wish: ProfileUpdate): string {
  const path = pathOf(ref)
  let edited = text.trim() === '' ? EMPTY : text
  edited = hasMember(edited, path) ? edited : editJson(edited, path, {})
  for (const [name, value] of Object.entries(wish) as [keyof ProfileUpdate, Json | undefined][]) {
    if (value === undefined) continue
    edited = editJson(edited, [...path, stepTo(FIELD_KEYS[name])], value ?? undefined)
  }
  return edited
}

/** Undefined takes the selection out of the file: then the profile has what its agent’s variants have by default. */
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

/** A text that says the same with the member removed has none. */
const hasMember = (text: string, path: readonly JsonStep[]): boolean => editJson(text, path, undefined) !== text

/** Which member of an object is meant, and how it is written where there is none yet. */
interface JsonStep {
  readonly is: (key: string) => boolean
  readonly key: string
}

/**
 * Sets or removes one member, however deep, and leaves every other byte as it is. The text was proven to be JSON, and
 * everything above the member is an object or not there.
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
    const place = { start: member.value, end: member.end }
    if (depth < path.length - 1) container = place
    else if (value === undefined) return removeMember(text, container, member)
    else if (sameJson(JSON.parse(text.slice(place.start, place.end)) as Json, value)) return text
    else return replaceSpan(text, place, detectStyle(text).print(value, indentAt(text, member.start)))
  }
  return text
}

const MAX_WIDTH = 100

/** Over several lines where the file is; a list stays on one if it fits. */
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
