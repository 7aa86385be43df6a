import type { Step } from '@sallyport/core'
import type { CallContext } from './call-context.ts'

/** Checks paths, rules for arguments, and secrets. */
export const argumentsStep: Step<CallContext> = {
  name: 'arguments',
  evaluate: ({ rules, call }) => rules.checkArguments(call),
}
