import type { HomeContent, HomeFile } from './home-content.ts'

const RULE_FILES: Readonly<Partial<Record<HomeFile, string>>> = {
  'profiles.json': 'profiles.json (all but client_approval)',
}
const MOST_LISTED = 12

/** One sentence about every protection that a home asks for and this version does not give, if there is any. */
export function unenforcedText(keys: readonly string[], { files }: Pick<HomeContent, 'files'>): string | undefined {
  const rules = Object.entries(RULE_FILES).flatMap(([name, told]) =>
    (files.get(name as HomeFile)?.length ?? 0) > 0 ? [told] : [],
  )
  const all = [...keys, ...rules]
  if (all.length === 0) return undefined
  const rest = all.length > MOST_LISTED ? `, and ${all.length - MOST_LISTED} more` : ''
  return `nothing of this is enforced in this version yet: ${all.slice(0, MOST_LISTED).join(', ')}${rest}.`
}
