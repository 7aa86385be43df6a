import {
  findPreset,
  isJsonObject,
  type JsonObject,
  type Preset,
  readPresets,
  SallyportError,
  type ToolPolicy,
} from '@sallyport/core'
import type { Settings } from '../config/config.ts'
import { takesIntent } from './intent.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import { planIsolation } from './plan-isolation.ts'

/** What goes back of the results of one tool. */
export interface ShapingRules {
  /** Undefined: it is not isolated. */
  readonly plan: IsolationPlan | undefined
  /** By which they are shaped, where somebody names one. */
  readonly preset: Preset | undefined
  /** Its callers may say what they want to know. */
  readonly takesIntent: boolean
  /** What goes back may be less than what came. */
  readonly mayCut: boolean
}

/** Only values that validate against a schema go back (ISO-11). */
export const isQuarantined = (plan: IsolationPlan | undefined): boolean => plan?.returns !== undefined

/** A tool, as its server defined it. */
export interface OriginalTool {
  readonly kind: string
  readonly server: string
  readonly name: string
  readonly original: JsonObject
}

/** Of what is no tool, and of most tools where there is no cap. */
export const UNSHAPED: ShapingRules = Object.freeze({
  ...{ plan: undefined, preset: undefined, takesIntent: false },
  mayCut: false,
})
/** Of most tools. */
const CAPPED_ONLY: ShapingRules = Object.freeze({ ...UNSHAPED, mayCut: true })

type Presets = Settings['context']['presets']
type Sources = Pick<Settings, 'servers' | 'isolation' | 'executor' | 'context'>

export function resolveShapingRules(settings: Sources, tool: OriginalTool, policy: ToolPolicy): ShapingRules {
  if (tool.kind !== 'tool') return UNSHAPED
  const { isolation, executor, context } = settings
  const server = settings.servers.find(({ id }) => id === tool.server)
  const plan = planIsolation({ server, tool: tool.name, policy, isolation, executor })
  const wanted = policy.result?.value ?? server?.result
  if (plan === undefined && wanted === undefined) return context.cap === undefined ? UNSHAPED : CAPPED_ONLY
  const preset = wanted === undefined ? undefined : presetOf(wanted, context.presets)
  return {
    plan,
    preset,
    takesIntent: takesIntent(plan, tool.original.inputSchema),
    mayCut: plan?.strategy !== 'exact',
  }
}

/** Why what an entry says of its results cannot be followed; nothing where it can. */
export function findPresetProblem(wanted: string | JsonObject, presets: Presets): string | undefined {
  const preset = readPreset(wanted, presets)
  return preset instanceof SallyportError ? preset.text : undefined
}

/** One that cannot be followed is told by a check; here what it should have bounded stays bounded. */
function presetOf(wanted: string | JsonObject, presets: Presets): Preset {
  const preset = readPreset(wanted, presets)
  return preset instanceof SallyportError ? findPreset('default', presets) : preset
}

const OWN = 'own'

function readPreset(wanted: string | JsonObject, presets: Presets): Preset | SallyportError {
  try {
    return isJsonObject(wanted) ? findPreset(OWN, readPresets({ [OWN]: wanted })) : findPreset(wanted, presets)
  } catch (error) {
    if (error instanceof SallyportError) return error
    throw error
  }
}
