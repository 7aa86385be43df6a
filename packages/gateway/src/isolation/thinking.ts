import { estimateTokens, SallyportError } from '@sallyport/core'
import { abortable } from './abortable.ts'
import type { ModelEngine, ModelMessage, ModelRequest, ModelTurn } from './model-engine.ts'
import type { RunBudget } from './run-budget.ts'

type Question = Omit<ModelRequest, 'maxOutputTokens'>

/** One turn of a model, within the budget. */
export async function think(
  engine: ModelEngine,
  question: Question,
  budget: RunBudget,
): Promise<ModelTurn | SallyportError> {
  const tokensIn = estimateTokens(JSON.stringify([question.system, question.tools, question.messages.map(plain)]))
  const maxOutputTokens = budget.outputFor(tokensIn)
  if (maxOutputTokens instanceof SallyportError) return maxOutputTokens
  const turn = await abortable(engine.turn({ ...question, maxOutputTokens }), question.signal)
  const tokensOut = estimateTokens(`${turn.text}${JSON.stringify(turn.calls)}`)
  budget.spend(turn, { in: tokensIn, out: tokensOut })
  return turn
}

const plain = (message: ModelMessage): unknown =>
  message.role === 'tools' ? message.results.map(({ text }) => text) : message
