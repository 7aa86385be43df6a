import { isJsonList, type Json } from '../json/json.ts'
import type { Check } from './validation-run.ts'

/** Makes the check of a schema within the one at hand, or nothing where that is not plain. */
export type CompileSubschema = (schema: Json | undefined) => Check | undefined

/** The checks of a list of at least one schema, or nothing where one of them is not plain. */
export function compileSubschemas(schemas: Json | undefined, compile: CompileSubschema): readonly Check[] | undefined {
  if (!isJsonList(schemas) || schemas.length === 0) return undefined
  const checks = schemas.flatMap((schema) => compile(schema) ?? [])
  return checks.length === schemas.length ? checks : undefined
}
