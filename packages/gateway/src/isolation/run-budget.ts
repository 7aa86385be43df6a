import { SallyportError } from '@sallyport/core'
import type { ModelUsage } from './isolated-call.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import type { ModelTurn } from './model-engine.ts'

/** A shorter answer would be useless. */
const MIN_OUTPUT_TOKENS = 50

/** The limits of one isolated call, and what it has used. */
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

  /** The maximum number of output tokens for a request with this many input tokens. */
  outputFor(tokensIn: number): number | SallyportError {
    const { maxTokens } = this.#limits
    const left = maxTokens - this.#tokensIn - this.#tokensOut - tokensIn
    if (left >= MIN_OUTPUT_TOKENS) return left
    return limitReached(`${maxTokens} tokens would not be enough for its next turn`, 'max_tokens')
  }

  /** Counts a request when it is sent, with an estimate: a request without an answer also costs tokens. */
  begin(estimatedIn: number): void {
    this.#turns += 1
    this.#tokensIn += estimatedIn
  }

  /** Replaces the estimate of the last turn with the provider's count, if there is one. */
  settle({ tokensIn, tokensOut }: ModelTurn, estimated: { readonly in: number; readonly out: number }): void {
    this.#tokensIn += (counted(tokensIn) ?? estimated.in) - estimated.in
    this.#tokensOut += counted(tokensOut) ?? estimated.out
  }

  turnsReached(): SallyportError {
    return limitReached(`${this.#limits.maxTurns} turns were not enough`, 'max_turns')
  }
}

/** Ignores negative counts: with them a call would never reach its limit. */
const counted = (tokens: number | undefined): number | undefined =>
  tokens !== undefined && Number.isFinite(tokens) && tokens >= 0 ? tokens : undefined

export const limitReached = (what: string, key: string): SallyportError =>
  new SallyportError('ISOLATION_LIMIT', `The isolated call reached its limit: ${what}.`, {
    hint: `Raise isolation.${key}, or use the strategy "bounded", which asks no model.`,
  })
