import type { Step } from '@sallyport/core'
import type { Case } from './case.ts'

/** Paths, rules for arguments, and secrets: what the tool's own entry says of what it may be given. */
export const judgeArguments: Step<Case> = {
  name: 'arguments',
  judge: ({ rules, call }) => rules.judgeArguments(call),
}
