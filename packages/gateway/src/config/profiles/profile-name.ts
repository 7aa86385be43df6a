/** Short names of agents. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['claude', 'claude-code'],
  ['gemini', 'gemini-cli'],
  ['qwen', 'qwen-code'],
])

/** Every agent has this variant. */
export const DEFAULT_VARIANT = 'default'

/** `CLAUDE_CODE`, `claude` and `claude-code` are the same agent. */
export function agentSlug(text: string): string {
  const slug = text.toLowerCase().replaceAll('_', '-')
  return ALIASES.get(slug) ?? slug
}

/** The key of an agent in profiles.json. */
export const agentFileKey = (slug: string): string => slug.toUpperCase().replaceAll('-', '_')

/** Variants are compared without regard to case, in every alphabet and with any Unicode form of accents. */
export const foldVariant = (variant: string): string => variant.normalize('NFC').toUpperCase().toLowerCase()

/** The name of a profile: `claude-code.reviewer`. */
export const profileKey = (agent: string, variant: string): string => `${agent}.${foldVariant(variant)}`

export const isDefaultVariant = (variant: string): boolean => foldVariant(variant) === DEFAULT_VARIANT

/** Names that are reserved for later use by the gateway. */
export const isReservedVariant = (variant: string): boolean => variant.startsWith('__')
