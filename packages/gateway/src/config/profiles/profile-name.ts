/** What people call agents in short. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['claude', 'claude-code'],
  ['gemini', 'gemini-cli'],
  ['qwen', 'qwen-code'],
])

/** The variant that every agent has. */
export const DEFAULT_VARIANT = 'default'

/** `CLAUDE_CODE`, `claude` and `claude-code` are one agent. */
export function agentSlug(text: string): string {
  const slug = text.toLowerCase().replaceAll('_', '-')
  return ALIASES.get(slug) ?? slug
}

/** As an agent is written in profiles.json. */
export const agentFileKey = (slug: string): string => slug.toUpperCase().replaceAll('-', '_')

/** Variants are the same in capitals and in small letters, of every alphabet and however accents are composed. */
export const foldVariant = (variant: string): string => variant.normalize('NFC').toUpperCase().toLowerCase()

/** The name of a profile: `claude-code.reviewer`. */
export const profileKey = (agent: string, variant: string): string => `${agent}.${foldVariant(variant)}`

export const isDefaultVariant = (variant: string): boolean => foldVariant(variant) === DEFAULT_VARIANT

/** Names that we may want to give a meaning of our own. */
export const isReservedVariant = (variant: string): boolean => variant.startsWith('__')
