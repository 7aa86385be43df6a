import { type IsolationFields, type IsolationStrategy, shouldIsolateTool, type ToolPolicy } from '@sallyport/core'
import type { ExecutorSettings, IsolationSettings, ServerConfig } from '../config/config.ts'
import type { IsolationPlan } from './isolation-plan.ts'

export interface PlanSources {
  /** `undefined` for a server that is not in any file. */
  readonly server: Pick<ServerConfig, 'isolated' | 'isolatedTools' | 'location'> | undefined
  readonly tool: string
  readonly policy: Pick<ToolPolicy, 'isolated'>
  readonly isolation: IsolationSettings
  readonly executor: ExecutorSettings
}

/** How the calls of a tool are isolated; `undefined` if they are not. The most specific setting wins. */
export function planIsolation({ server, tool, policy, isolation, executor }: PlanSources): IsolationPlan | undefined {
  const own = policy.isolated
  if (own === undefined ? !shouldIsolateTool(server, tool) : own.value === false) return undefined
  const { engine: _engine, model: _model, ...general } = isolation
  const fields = own === undefined || typeof own.value === 'boolean' ? NO_FIELDS : own.value
  const strategy = chooseStrategy({ ...general, ...fields }, hasModel(isolation, executor))
  const limits = strategy === 'agent' ? readLimits(executor) : NO_FIELDS
  const rule = own === undefined ? server?.location : own.rule
  const why = own === undefined ? 'its server’s entry says so' : 'its entry says so'
  return { ...general, ...limits, ...fields, strategy, why, ...(rule && { rule }) }
}

/** With `returns`, only values that match the schema are returned, and only a model can find them. Without a model the call fails. */
function chooseStrategy({ strategy, returns }: IsolationFields, hasModel: boolean): IsolationStrategy {
  const chosen = strategy ?? (hasModel ? 'agent' : 'bounded')
  return returns !== undefined && (chosen === 'exact' || chosen === 'bounded') ? 'agent' : chosen
}

const hasModel = ({ engine, model }: IsolationSettings, executor: ExecutorSettings): boolean =>
  engine !== 'none' && (model !== undefined || executor.model !== undefined)

const NO_FIELDS: IsolationFields = Object.freeze({})

/** The limits in the settings of the sub-agent. */
const readLimits = ({ maxTokens, maxTurns, maxTime }: ExecutorSettings): IsolationFields => ({
  ...(maxTokens !== undefined && { maxTokens }),
  ...(maxTurns !== undefined && { maxTurns }),
  ...(maxTime !== undefined && { maxTime }),
})
