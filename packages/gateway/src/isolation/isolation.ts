export { type Audience, Audiences, EVERYTHING } from './audience.ts'
export { INTENT, splitIntent } from './intent.ts'
export { defineExecutor, type ExecutorDefinition } from './mcp-executor.ts'
export { countNarrowValues } from './narrow-schema.ts'
export { createProviderEngine } from './provider-engine.ts'
export { ResultShaper, type ShapingFacts, stripTask, withoutQuotedText } from './result-shaper.ts'
export { type RemovedData, SessionResults } from './session-results.ts'
export {
  findPresetProblem,
  isQuarantined,
  resolveShapingRules,
  type ShapingRules,
  shownTool,
  UNSHAPED,
} from './shaping-rules.ts'
