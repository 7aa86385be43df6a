import { cutText, estimateTokens, isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import { delimited } from './delimited.ts'
import { fittingText } from './fitting-text.ts'
import type { IsolatedCall, IsolatedReply } from './isolated-call.ts'
import { type ExecutorDefinition, fillTemplate, MCP_EXECUTOR } from './mcp-executor.ts'
import type { ModelMessage, ModelTool, ModelToolCall, ModelToolResult } from './model-engine.ts'
import { findHanded, type Handed } from './result-reference.ts'
import { resultText } from './result-text.ts'
import type { RunBudget } from './run-budget.ts'
import type { RunParts } from './run-parts.ts'
import { think } from './thinking.ts'

const COMPLETE_TASK: ModelTool = {
  name: 'complete_task',
  description: 'Hands over the outcome and ends the task. Nothing else that you write reaches anybody.',
  inputSchema: MCP_EXECUTOR.outputSchema,
}

const RECOVERY = 'The task is not complete: nothing of what you wrote was handed over. Call complete_task now.'
const MOST_NAME = 64
const LONGEST_DESCRIPTION = 200
/** Of all tokens, those that may go into one look at the result, and into one at the arguments. */
const RESULT_SHARE = 0.25
const ARGUMENTS_SHARE = 0.1

export interface AgentRunOptions {
  readonly call: IsolatedCall
  readonly parts: RunParts
  readonly executor: ExecutorDefinition
  readonly budget: RunBudget
  readonly signal: AbortSignal
}

/** One isolated call as the sub-agent runs it: a history of its own, the tool that is meant, and a way to end. */
export class AgentRun {
  readonly #options: AgentRunOptions
  readonly #target: ModelTool
  readonly #messages: ModelMessage[] = []
  readonly #results = new Map<string, JsonObject>()
  /** One turn can ask for any number of calls. */
  #recalls = 0

  constructor(options: AgentRunOptions) {
    this.#options = options
    this.#target = targetTool(options.call)
  }

  async run(): Promise<IsolatedReply | SallyportError> {
    const { budget } = this.#options
    this.#messages.push({ role: 'user', text: this.#query() })
    let isRecovering = false
    while (budget.hasTurns) {
      const turn = await this.#think()
      if (turn instanceof SallyportError) return turn
      this.#messages.push({ role: 'model', text: turn.text, calls: turn.calls })
      if (turn.calls.length === 0) {
        if (isRecovering) return withoutEnd()
        isRecovering = true
        budget.grantRecovery()
        this.#messages.push({ role: 'user', text: RECOVERY })
        continue
      }
      const reply = await this.#answer(turn.calls)
      if (reply !== undefined) return reply
    }
    return budget.turnsReached()
  }

  #think() {
    const { parts, executor, budget, signal } = this.#options
    const question = {
      system: executor.systemPrompt,
      messages: this.#messages,
      tools: [this.#target, COMPLETE_TASK],
      signal,
    }
    return think(parts.engine, question, budget)
  }

  #query(): string {
    const { call, executor } = this.#options
    const most = call.plan.maxTokens * ARGUMENTS_SHARE
    const toolInput = fittingText(JSON.stringify(call.args), most)
    return fillTemplate(executor.query, { serverName: call.server, toolName: this.#target.name, toolInput })
  }

  /** In the order of the calls. What was asked for beside the end of the task is not done. */
  async #answer(calls: readonly ModelToolCall[]): Promise<IsolatedReply | SallyportError | undefined> {
    const results: ModelToolResult[] = []
    for (const call of calls) {
      this.#options.signal.throwIfAborted()
      if (call.name === COMPLETE_TASK.name) {
        const reply = await this.#complete(call.input)
        if (typeof reply !== 'string') return reply
        results.push({ call, text: reply, isError: true })
      } else results.push({ call, ...(await this.#use(call)) })
    }
    this.#messages.push({ role: 'tools', results })
    return undefined
  }

  async #use({ name, input }: ModelToolCall): Promise<Omit<ModelToolResult, 'call'>> {
    if (name !== this.#target.name) return refused(`${cutText(name, MOST_NAME)}: unauthorised. You have no such tool.`)
    const { call, signal } = this.#options
    if (this.#results.size === 0) return this.#keep(call.result)
    if (!call.plan.allowRecall || !call.isReadOnly)
      return refused('It was called already, and its result is r1. Call complete_task.')
    if (this.#recalls >= call.plan.maxTurns) return refused('It was called often enough. Call complete_task.')
    this.#recalls += 1
    const result = await call.recall(isJsonObject(input) ? input : {}, signal)
    return result instanceof SallyportError ? refused(result.text) : this.#keep(result)
  }

  #keep(result: JsonObject): Omit<ModelToolResult, 'call'> {
    const id = `r${this.#results.size + 1}`
    this.#results.set(id, result)
    const text = fittingText(resultText(result), this.#options.call.plan.maxTokens * RESULT_SHARE)
    return {
      text: `Result ${id}.\n${delimited('What the tool returned stands', text)}`,
      isError: result.isError === true,
    }
  }

  /** What goes back, or what the sub-agent did wrong. */
  async #complete(input: Json): Promise<IsolatedReply | SallyportError | string> {
    if (!isJsonObject(input) || typeof input.success !== 'boolean') return 'Expected {"success": true, "output": …}.'
    if (!input.success) return this.#failed(input)
    if (input.output === undefined) return 'Expected "output", such as {"$result": "r1"}.'
    const handed = findHanded(input.output, this.#results)
    return typeof handed === 'string' ? handed : this.#replyOf(handed)
  }

  /** Its words may be those of the result: where a schema is set they stay here (ISO-11). */
  #failed({ error, output = null }: JsonObject): IsolatedReply | SallyportError {
    if (this.#options.call.plan.returns !== undefined) return reportedFailure()
    const text = typeof error === 'string' ? error : textOf(output)
    return { kind: 'text', text: cutText(text, ERROR_LENGTH), isError: true }
  }

  async #replyOf(handed: Handed): Promise<IsolatedReply | string> {
    const { call, parts } = this.#options
    const { returns } = call.plan
    if (returns === undefined) {
      if (handed.kind === 'value') return { kind: 'text', text: handed.written ?? textOf(handed.value), isError: false }
      return handed.result === call.result ? { kind: 'received' } : { kind: 'result', result: handed.result }
    }
    const value = handed.kind === 'value' ? handed.value : handed.asValue
    if (value === undefined) return 'Expected a value, and this result is none. Give the value itself.'
    const flaw = await parts.flawIn(returns, value)
    return flaw === undefined ? { kind: 'text', text: JSON.stringify(value), isError: false } : flaw
  }
}

const ERROR_LENGTH = 2_000

const refused = (text: string): Omit<ModelToolResult, 'call'> => ({ text, isError: true })

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Its own schema would cost tokens, and what it is called with does not count: the call was made. */
function targetTool({ definition, plan, isReadOnly }: IsolatedCall): ModelTool {
  const name = definition.name.replaceAll(/[^\w-]/g, '_').slice(0, MOST_NAME)
  const recalls = plan.allowRecall && isReadOnly
  const fits = estimateTokens(JSON.stringify(definition.inputSchema)) < plan.maxTokens * ARGUMENTS_SHARE
  return {
    name: name === COMPLETE_TASK.name ? `tool_${name}` : name,
    description: cutText(definition.description ?? definition.name, LONGEST_DESCRIPTION),
    inputSchema: recalls && fits ? definition.inputSchema : { type: 'object', additionalProperties: true },
  }
}

const reportedFailure = (): SallyportError =>
  new SallyportError('ISOLATION_FAILED', 'The sub-agent reported a failure. Only values of a set schema cross back.')

const withoutEnd = (): SallyportError =>
  new SallyportError('ISOLATION_FAILED', 'The sub-agent ended without complete_task, also when it was reminded.')
