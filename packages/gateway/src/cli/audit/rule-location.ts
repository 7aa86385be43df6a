import type { RuleSource } from '@sallyport/core'

/** Where a rule stands, in a form that editors can open. Line 0 is the file as a whole. */
export const formatRuleLocation = ({ file, line }: RuleSource): string => (line === 0 ? file : `${file}:${line}`)
