import type { Json, JsonObject } from '@sallyport/core'
import type { ModelEngine } from './model-engine.ts'

/** What a run uses: a model, and the check of values. */
export interface RunParts {
  readonly engine: ModelEngine
  /** Why a value does not match a schema; `undefined` if it does. A schema that cannot be checked is a problem too. */
  readonly findValueProblem: (schema: JsonObject, value: Json) => Promise<string | undefined>
}
