import { type IsolationFields, type IsolationStrategy, shouldIsolateTool, type ToolPolicy } from '@sallyport/core'
import type { ExecutorSettings, IsolationSettings, ServerConfig } from '../config/config.ts'
import type { IsolationPlan } from './isolation-plan.ts'

export interface PlanSources {
  /** Undefined: a server that stands in no file. */
  readonly server: Pick<ServerConfig, 'isolated' | 'isolatedTools' | 'place'> | undefined
  readonly tool: string
  readonly policy: Pick<ToolPolicy, 'isolated'>
  readonly isolation: IsolationSettings
  readonly executor: ExecutorSettings
}

/** How the calls of a tool are isolated; undefined where they are not. What is said nearest to the tool counts. */
export function planIsolation({ server, tool, policy, isolation, executor }: PlanSources): IsolationPlan | undefined {
  const own = policy.isolated
  if (own === undefined ? !shouldIsolateTool(server, tool) : own.value === false) return undefined
  const { engine: _engine, model: _model, ...general } = isolation
  const fields = own === undefined || typeof own.value === 'boolean' ? NO_FIELDS : own.value
  const strategy = chooseStrategy({ ...general, ...fields }, hasModel(isolation, executor))
  const limits = strategy === 'agent' ? readLimits(executor) : NO_FIELDS
  const rule = own === undefined ? server?.place : own.rule
  const why = own === undefined ? 'its server’s entry says so' : 'its entry says so'
  return { ...general, ...limits, ...fields, strategy, why, ...(rule && { rule }) }
}

/** With `returns` only values that validate go back, and only a model finds these: without one the call fails. */
function chooseStrategy({ strategy, returns }: IsolationFields, hasModel: boolean): IsolationStrategy {
  const chosen = strategy ?? (hasModel ? 'agent' : 'bounded')
  return returns !== undefined && (chosen === 'exact' || chosen === 'bounded') ? 'agent' : chosen
}

const hasModel = ({ engine, model }: IsolationSettings, executor: ExecutorSettings): boolean =>
  engine !== 'none' && (model !== undefined || executor.model !== undefined)

const NO_FIELDS: IsolationFields = Object.freeze({})

/** What the definition of the sub-agent says of its own limits. */
const readLimits = ({ maxTokens, maxTurns, maxTime }: ExecutorSettings): IsolationFields => ({
  ...(maxTokens !== undefined && { maxTokens }),
  ...(maxTurns !== undefined && { maxTurns }),
  ...(maxTime !== undefined && { maxTime }),
})
