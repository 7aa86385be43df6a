import type { PolicyField } from '@sallyport/core'

/** What an entry may say and no rule acts on yet: whoever writes it should know. */
export const NOT_ENFORCED_FIELDS = ['sensitivity', 'sensitivePaths'] as const satisfies readonly PolicyField[]
