export { type ContextResult, type ContextResultOptions, contextResult, currentResultStore } from './context-result.ts'
export { READ_RESULT_INPUT, type ReadResultArguments, type ReadResultOptions, readResult } from './read-result.ts'
export { isTextType } from './result-file.ts'
export {
  type AboutResult,
  openResultStore,
  type ResultStore,
  type ResultStoreLimits,
  type ResultStoreOptions,
  type SavedResult,
} from './result-store.ts'
export { RESULT_URI_PREFIX, type ResultShaping, SHAPED_META, shapeToolResult } from './shape-tool-result.ts'
export { type SweepOptions, sweepResults } from './sweep-results.ts'
export { nameResultPreset, openWholeResult } from './whole-result.ts'
