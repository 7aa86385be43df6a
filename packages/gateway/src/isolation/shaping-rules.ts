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
import type { Audience } from './audience.ts'
import { takesIntent, withIntent } from './intent.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import { planIsolation } from './plan-isolation.ts'

/** Which part of a tool's results is returned. */
export interface ShapingRules {
  /** `undefined` if the tool is not isolated. */
  readonly plan: IsolationPlan | undefined
  /** The preset that shapes the results; `undefined` if none is configured. */
  readonly preset: Preset | undefined
  /** Whether callers may say what they want to know. */
  readonly takesIntent: boolean
  /** Whether a result may be shortened for some callers. */
  readonly mayCut: boolean
  /** The server may name a preset for a result. */
  readonly isNamedByServer?: boolean
}

/** Whether a result may be shortened for these callers. */
const mayCutFor = ({ plan, preset, mayCut, isNamedByServer }: ShapingRules, { cap }: Audience): boolean =>
  mayCut && (plan !== undefined || preset !== undefined || cap !== undefined || isNamedByServer === true)

/** Whether only values that match a schema are returned (ISO-11). */
export const isQuarantined = (plan: IsolationPlan | undefined): boolean => plan?.returns !== undefined

/** A tool as its server defined it. */
export interface OriginalTool {
  readonly kind: string
  readonly server: string
  readonly name: string
  readonly original: JsonObject
}

/** For everything that is not a tool, and for most tools if there is no cap. */
export const UNSHAPED: ShapingRules = Object.freeze({
  ...{ plan: undefined, preset: undefined, takesIntent: false },
  mayCut: false,
})
/** For most tools, if there is a cap. */
const CAPPED_ONLY: ShapingRules = Object.freeze({ ...UNSHAPED, mayCut: true })
/** For most tools of a server that is told who calls, and so that we shorten its results. */
const NAMED_BY_SERVER: ShapingRules = Object.freeze({ ...CAPPED_ONLY, isNamedByServer: true })

type Presets = Settings['context']['presets']
type Sources = Pick<Settings, 'servers' | 'isolation' | 'executor' | 'context'>

export function resolveShapingRules(settings: Sources, tool: OriginalTool, policy: ToolPolicy): ShapingRules {
  if (tool.kind !== 'tool') return UNSHAPED
  const { isolation, executor, context } = settings
  const server = settings.servers.find(({ id }) => id === tool.server)
  const plan = planIsolation({ server, tool: tool.name, policy, isolation, executor })
  const wanted = policy.result?.value ?? server?.result
  const isNamedByServer = server?.identity === 'forward'
  if (plan === undefined && wanted === undefined) {
    if (isNamedByServer) return NAMED_BY_SERVER
    return context.cap === undefined ? UNSHAPED : CAPPED_ONLY
  }
  const preset = wanted === undefined ? undefined : resolvePreset(wanted, context.presets)
  return {
    plan,
    preset,
    takesIntent: takesIntent(plan, tool.original.inputSchema),
    mayCut: plan?.strategy !== 'exact',
    isNamedByServer,
  }
}

/** Why the `result` of an entry is invalid; `undefined` if it is valid. */
export function findPresetProblem(wanted: string | JsonObject, presets: Presets): string | undefined {
  const preset = readPreset(wanted, presets)
  return preset instanceof SallyportError ? preset.text : undefined
}

/** Uses the default preset if the named one is invalid, so that results stay limited. `sallyport tools check` reports the error of an entry. */
export function resolvePreset(wanted: string | JsonObject, presets: Presets): Preset {
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

/**
 * A tool as its callers see it: with the intent argument if it takes one, and without an output schema if results may
 * be shortened for them. Such a schema promises structured content in every result, and many clients reject results
 * without it (ISO-17).
 */
export function shownTool(definition: JsonObject, rules: ShapingRules, audience: Audience): JsonObject {
  const asking = rules.takesIntent ? withIntent(definition) : definition
  const isPromised = !audience.needsStructure || !mayCutFor(rules, audience)
  if (isPromised || asking.outputSchema === undefined) return asking
  const { outputSchema: _promised, ...shown } = asking
  return shown
}
