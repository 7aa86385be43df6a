// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the hint shows a reference.

import { SallyportError } from '@sallyport/core'
import { runWithTimeout } from './abortable.ts'
import { AgentRun } from './agent-run.ts'
import { extract } from './extract.ts'
import type { IsolatedCall, IsolatedOutcome, IsolatedReply } from './isolated-call.ts'
import type { ExecutorDefinition } from './mcp-executor.ts'
import { RunBudget } from './run-budget.ts'
import type { RunParts } from './run-parts.ts'

export interface IsolatedRun {
  readonly call: IsolatedCall
  readonly parts: Omit<RunParts, 'engine'> & { readonly engine: RunParts['engine'] | undefined }
  /** Undefined where it is switched off. */
  readonly executor: ExecutorDefinition | undefined
}

/** Runs the strategies that ask a model. Whatever goes wrong is an outcome, and what was used until then is known. */
export async function runIsolated({ call, parts, executor }: IsolatedRun): Promise<IsolatedOutcome> {
  const { plan } = call
  const budget = new RunBudget(plan)
  const { engine } = parts
  if (plan.strategy === 'agent' && executor === undefined) return { reply: executorMissing(), facts: budget.facts }
  if (engine === undefined) return { reply: noModel(plan.strategy), facts: budget.facts }
  const run = (signal: AbortSignal): Promise<IsolatedReply | SallyportError> => {
    const options = { call, parts: { ...parts, engine }, budget, signal }
    return plan.strategy === 'agent' && executor ? new AgentRun({ ...options, executor }).run() : extract(options)
  }
  const reply = await runWithTimeout({ signal: call.signal, timeoutMs: plan.maxTime, run })
  return { reply, facts: budget.facts }
}

const executorMissing = (): SallyportError =>
  new SallyportError('EXECUTOR_MISSING', 'mcp-executor agent not found', {
    hint: 'It is switched off: set agents.mcp-executor.enabled to true, or isolate the tool by "bounded" or "exact".',
  })

const noModel = (strategy: string): SallyportError =>
  new SallyportError('MODEL_UNAVAILABLE', `The strategy "${strategy}" needs a model, and none is configured.`, {
    hint: 'Set isolation.model, such as {provider: anthropic, api_key: "${ANTHROPIC_API_KEY}"}, or use "bounded".',
  })
