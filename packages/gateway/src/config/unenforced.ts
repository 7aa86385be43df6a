import type { HomeContent, HomeFile } from './home-content.ts'

const RULE_FILES = ['profiles.json'] as const satisfies readonly HomeFile[]
const MOST_LISTED = 12

/** One sentence about every protection that a home asks for and this version does not give, if there is any. */
export function unenforcedText(keys: readonly string[], { files }: Pick<HomeContent, 'files'>): string | undefined {
  const rules = RULE_FILES.filter((name) => (files.get(name)?.length ?? 0) > 0)
  const all = [...keys, ...rules]
  if (all.length === 0) return undefined
  const rest = all.length > MOST_LISTED ? `, and ${all.length - MOST_LISTED} more` : ''
  return `nothing of this is enforced in this version yet: ${all.slice(0, MOST_LISTED).join(', ')}${rest}.`
}
