import { type Json, parseDuration } from '@sallyport/core'
import { NO_VARIABLES, translateVariables, type VariableSyntax } from './variable-syntax.ts'

/** An entry of ours while it is put together from one of theirs. */
export interface ServerDraft {
  readonly variables: VariableSyntax
  readonly notes: string[]
  /** Why nothing can be made of it. */
  refusal?: string
  remote?: 'http' | 'sse'
  command?: string
  args: readonly string[]
  readonly env: Map<string, string>
  cwd?: string
  url?: string
  readonly headers: Map<string, string>
  readonly timeouts: Map<'startup' | 'call', string>
  includeTools?: readonly string[]
  excludeTools?: readonly string[]
  isolated?: boolean
  isolatedTools?: readonly string[]
  title?: string
  description?: string
  enabled: boolean
}

export const createDraft = (variables: VariableSyntax): ServerDraft => ({
  variables,
  notes: [],
  args: [],
  env: new Map(),
  headers: new Map(),
  timeouts: new Map(),
  enabled: true,
})

/** A text with its variables in our writing. */
export function translateText(draft: ServerDraft, text: string): string {
  const { text: translated, notes } = translateVariables(text, draft.variables)
  draft.notes.push(...notes)
  return translated
}

/** A text in which agents take nothing for a variable, written so that we do not either. */
export const escapeVariables = (text: string): string => translateVariables(text, NO_VARIABLES).text

export function noteOnce(draft: ServerDraft, note: string): void {
  if (!draft.notes.includes(note)) draft.notes.push(note)
}

/** What a program can be given as one word. */
export function toArgument(value: Json | undefined): string | undefined {
  if (typeof value === 'boolean' || Number.isFinite(value)) return String(value)
  return typeof value === 'string' && !value.includes('\0') ? value : undefined
}

/** The longest that our files can say. */
const MAX_DURATION_MS = 24 * 24 * 60 * 60 * 1000

/** A number in the agent's unit, as a duration that our files can say. */
export function toDurationString(value: Json | undefined, unit: 'ms' | 's'): string | undefined {
  const ms = typeof value === 'number' ? parseDuration(value, unit) : undefined
  if (ms === undefined || ms < 1) return undefined
  const whole = Math.min(Math.round(ms), MAX_DURATION_MS)
  return whole % 1000 === 0 ? `${whole / 1000}s` : `${whole}ms`
}
