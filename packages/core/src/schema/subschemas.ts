import { isJsonList, type Json } from '../json/json.ts'
import type { Check } from './validation-run.ts'

/** Compiles a nested schema; `undefined` if it is not supported. */
export type CompileSubschema = (schema: Json | undefined) => Check | undefined

/** Compiles a list of at least one schema; `undefined` if one of them is not supported. */
export function compileSubschemas(schemas: Json | undefined, compile: CompileSubschema): readonly Check[] | undefined {
  if (!isJsonList(schemas) || schemas.length === 0) return undefined
  const checks = schemas.flatMap((schema) => compile(schema) ?? [])
  return checks.length === schemas.length ? checks : undefined
}
