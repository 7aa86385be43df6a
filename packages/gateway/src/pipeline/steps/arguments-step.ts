import type { Step } from '@sallyport/core'
import type { CallContext } from './call-context.ts'

/** Paths, rules for arguments, and secrets: what the tool's own entry says of what it may be given. */
export const argumentsStep: Step<CallContext> = {
  name: 'arguments',
  evaluate: ({ rules, call }) => rules.checkArguments(call),
}
