import type { RuleSource } from '@sallyport/core'

/** The location of a rule, in a form that editors can open. Line 0 means the whole file. */
export const formatRuleLocation = ({ file, line }: RuleSource): string => (line === 0 ? file : `${file}:${line}`)
