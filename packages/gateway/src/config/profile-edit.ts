import type { Json } from '@sallyport/core'
import { editJson, type JsonStep } from './json-edit.ts'
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
