import { setTimeout as wait } from 'node:timers/promises'
import { callCancelledError, estimateTokens, SallyportError } from '@sallyport/core'
import type { ModelEngine, ModelMessage, ModelRequest, ModelTurn } from './model-engine.ts'
import { limitReached, type RunBudget } from './run-budget.ts'

type ModelQuestion = Omit<ModelRequest, 'maxOutputTokens'>

const RETRY_DELAY = 1_000

/** Gets one answer from a model, within the budget. A temporary failure is retried once, and the retry is a turn too. */
export async function askModel(
  engine: ModelEngine,
  question: ModelQuestion,
  budget: RunBudget,
): Promise<ModelTurn | SallyportError> {
  const tokensIn = estimateTokens(JSON.stringify([question.system, question.tools, question.messages.map(plain)]))
  const ask = (): Promise<ModelTurn | SallyportError> => askOnce(engine, question, { budget, tokensIn })
  try {
    return await ask()
  } catch (error) {
    if (!isTemporary(error) || !budget.hasTurns) throw error
    await wait(RETRY_DELAY, undefined, { signal: question.signal })
    return ask()
  }
}

interface Turn {
  readonly budget: RunBudget
  readonly tokensIn: number
}

async function askOnce(
  engine: ModelEngine,
  question: ModelQuestion,
  { budget, tokensIn }: Turn,
): Promise<ModelTurn | SallyportError> {
  const maxOutputTokens = budget.outputFor(tokensIn)
  if (maxOutputTokens instanceof SallyportError) return maxOutputTokens
  budget.begin(tokensIn)
  const turn = await abortable(engine.turn({ ...question, maxOutputTokens }), question.signal)
  const tokensOut = estimateTokens(`${turn.text}${JSON.stringify(turn.calls)}`)
  budget.settle(turn, { in: tokensIn, out: tokensOut })
  return turn
}

/** Whether the provider says that a retry may succeed. */
const isTemporary = (error: unknown): boolean =>
  error instanceof SallyportError &&
  (error.cause as { readonly isRetryable?: unknown } | undefined)?.isRetryable === true

const plain = (message: ModelMessage): unknown =>
  message.role === 'tools' ? message.results.map(({ text }) => text) : message

/** Rejects when the signal aborts, even if the work ignores the signal. */
function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

interface TimedWork<Value> {
  /** Aborted when the caller leaves. */
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly run: (signal: AbortSignal) => Promise<Value>
}

/** Returns the value, or an error if the work failed or the time ran out. Only bugs are thrown. */
export async function runWithTimeout<Value>({
  signal,
  timeoutMs,
  run,
}: TimedWork<Value>): Promise<Value | SallyportError> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const ending = AbortSignal.any([signal, timeout])
  try {
    return await abortable(run(ending), ending)
  } catch (error) {
    if (signal.aborted) return callCancelledError('the caller left while the isolated call ran')
    if (timeout.aborted) return limitReached(`it took longer than ${timeoutMs / 1_000} seconds`, 'max_time')
    if (error instanceof SallyportError) return error
    throw error
  }
}
