import type { IsolationFallback, IsolationFields, IsolationStrategy, RuleSource } from '@sallyport/core'

/** How the calls of one isolated tool run, and why they are isolated. */
export interface IsolationPlan extends Required<Omit<IsolationFields, 'returns'>>, Pick<IsolationFields, 'returns'> {
  readonly strategy: IsolationStrategy
  readonly fallback: IsolationFallback
  readonly why: string
  readonly rule?: RuleSource
}
