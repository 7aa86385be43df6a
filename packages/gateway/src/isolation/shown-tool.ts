import type { JsonObject } from '@sallyport/core'
import { withIntent } from './intent.ts'
import type { ShapingRules } from './return-rules.ts'

/**
 * A tool as its callers see it: with what they may ask of its results, and without an output schema where these may
 * be cut. Such a schema promises structured content in every result, and clients throw away one that lacks it (ISO-17).
 */
export function shownTool(definition: JsonObject, { takesIntent, mayCut }: ShapingRules): JsonObject {
  const asking = takesIntent ? withIntent(definition) : definition
  if (!mayCut || asking.outputSchema === undefined) return asking
  const { outputSchema: _promised, ...shown } = asking
  return shown
}
