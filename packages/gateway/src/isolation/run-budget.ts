import { SallyportError } from '@sallyport/core'
import type { ModelUsage } from './isolated-call.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import type { ModelTurn } from './model-engine.ts'

/** An answer shorter than this helps nobody. */
const MIN_OUTPUT_TOKENS = 50

/** What one isolated call may use, and has used. */
export class RunBudget {
  readonly #limits: Pick<IsolationPlan, 'maxTokens' | 'maxTurns'>
  #turns = 0
  #tokensIn = 0
  #tokensOut = 0

  constructor(limits: Pick<IsolationPlan, 'maxTokens' | 'maxTurns'>) {
    this.#limits = limits
  }

  get facts(): ModelUsage {
    return { turns: this.#turns, tokensIn: this.#tokensIn, tokensOut: this.#tokensOut }
  }

  get hasTurns(): boolean {
    return this.#turns < this.#limits.maxTurns
  }

  /** How long an answer to so many tokens may be. */
  outputFor(tokensIn: number): number | SallyportError {
    const { maxTokens } = this.#limits
    const left = maxTokens - this.#tokensIn - this.#tokensOut - tokensIn
    if (left >= MIN_OUTPUT_TOKENS) return left
    return limitReached(`${maxTokens} tokens would not be enough for its next turn`, 'max_tokens')
  }

  /** Counted when it is asked, with an estimate: a model that never answers was asked all the same. */
  begin(estimatedIn: number): void {
    this.#turns += 1
    this.#tokensIn += estimatedIn
  }

  /** What the last turn came to, as the provider counted, else by estimate. */
  settle({ tokensIn, tokensOut }: ModelTurn, estimated: { readonly in: number; readonly out: number }): void {
    this.#tokensIn += (counted(tokensIn) ?? estimated.in) - estimated.in
    this.#tokensOut += counted(tokensOut) ?? estimated.out
  }

  turnsReached(): SallyportError {
    return limitReached(`${this.#limits.maxTurns} turns were not enough`, 'max_turns')
  }
}

/** A provider that counts backwards would lend without end. */
const counted = (tokens: number | undefined): number | undefined =>
  tokens !== undefined && Number.isFinite(tokens) && tokens >= 0 ? tokens : undefined

export const limitReached = (what: string, key: string): SallyportError =>
  new SallyportError('ISOLATION_LIMIT', `The isolated call reached its limit: ${what}.`, {
    hint: `Raise isolation.${key}, or use the strategy "bounded", which asks no model.`,
  })
