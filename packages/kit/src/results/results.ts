export { type ContextResult, type ContextResultOptions, contextResult, currentShelf } from './context-result.ts'
export { READ_RESULT_INPUT, type ReadResultArguments, type ReadResultOptions, readResult } from './read-result.ts'
export { isTextType } from './result-file.ts'
export {
  type AboutResult,
  openResultShelf,
  type ResultShelf,
  type SavedResult,
  type ShelfLimits,
  type ShelfOptions,
} from './result-shelf.ts'
export { RESULT_URI_PREFIX, type ResultShaping, SHAPED_META, shapeToolResult } from './shape-tool-result.ts'
export { nameResultPreset, openWholeResult } from './whole-result.ts'
