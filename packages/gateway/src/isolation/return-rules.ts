import { findPreset, isJsonObject, type JsonObject, type Preset, readPresets, type ToolPolicy } from '@sallyport/core'
import type { Settings } from '../config/config.ts'
import { takesIntent } from './intent.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import { planTool } from './plan-tool.ts'

/** What goes back of the results of one tool. */
export interface ReturnRules {
  /** Undefined: it is not isolated. */
  readonly plan: IsolationPlan | undefined
  /** By which they are shaped, where somebody names one. */
  readonly preset: Preset | undefined
  /** Its callers may say what they want to know. */
  readonly takesIntent: boolean
}

/** A tool, as its server defined it. */
export interface ReturningTool {
  readonly kind: string
  readonly server: string
  readonly name: string
  readonly original: JsonObject
}

/** Of what is no tool, and of most tools. */
export const RETURN_ALL: ReturnRules = Object.freeze({ plan: undefined, preset: undefined, takesIntent: false })

type Sources = Pick<Settings, 'servers' | 'isolation' | 'executor' | 'context'>

export function returnRules(settings: Sources, tool: ReturningTool, policy: ToolPolicy): ReturnRules {
  if (tool.kind !== 'tool') return RETURN_ALL
  const { isolation, executor, context } = settings
  const server = settings.servers.find(({ id }) => id === tool.server)
  const plan = planTool({ server, tool: tool.name, policy, isolation, executor })
  const wanted = policy.result?.value ?? server?.result
  if (plan === undefined && wanted === undefined) return RETURN_ALL
  const preset = wanted === undefined ? undefined : presetOf(wanted, context.presets)
  return { plan, preset, takesIntent: takesIntent(plan, tool.original.inputSchema) }
}

const OWN = 'own'

/** A name that was refused when it was read counts for nothing here: what it should have bounded stays bounded. */
function presetOf(wanted: string | JsonObject, presets: Settings['context']['presets']): Preset {
  if (isJsonObject(wanted)) return findPreset(OWN, readPresets({ [OWN]: wanted }))
  return findPreset(wanted, presets)
}
