import type { Json, JsonObject } from '@sallyport/core'
import type { ModelEngine } from './model-engine.ts'

/** Whom a run may ask. */
export interface RunParts {
  readonly engine: ModelEngine
  /** What is wrong with a value by a schema; nothing where it validates. A schema that cannot be asked is a flaw too. */
  readonly findValueProblem: (schema: JsonObject, value: Json) => Promise<string | undefined>
}
