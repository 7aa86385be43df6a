import { compilePlain, isJsonObject, type Json, type JsonObject, SallyportError, violationsText } from '@sallyport/core'
import { type ArgumentsOf, checkArguments, type InputSchema, type PlainValueOf } from './input-schema.ts'
import { isStandardSchema, type OutputOf, readIssues, type StandardSchema, toJsonSchema } from './standard-schema.ts'

/** A JSON Schema of an object, or a schema of a library that can say what it is in JSON Schema (zod 4, ArkType, …). */
export type Schema = InputSchema | StandardSchema

/** Any JSON Schema. */
export type PlainSchema = JsonObject & { readonly '~standard'?: never }

/** What a handler gets once its arguments are checked. */
export type ValueOf<Given> = Given extends StandardSchema ? OutputOf<Given> : ArgumentsOf<Given>

/** What a handler may return for an output schema. */
export type ReturnedFor<Given> = Given extends StandardSchema<infer Input> ? Input : PlainValueOf<Given>

export type Checked = { readonly value: unknown } | { readonly wrong: string }

/** A schema that was read: what others are shown of it, and how values are checked. */
export interface CheckedSchema {
  readonly json: JsonObject
  check(value: Json): Checked | Promise<Checked>
}

/** `input`: what comes in before the schema has changed it; `output`: what it makes of it. */
export type Direction = 'input' | 'output'

export function readSchema(schema: Schema | PlainSchema, direction: Direction): CheckedSchema {
  if (isStandardSchema(schema)) return { json: toJsonSchema(schema, direction), check: (value) => ask(schema, value) }
  if (!isJsonObject(schema))
    throw new SallyportError('USAGE', 'A schema is neither a JSON Schema nor a Standard Schema.')
  const json = schema as JsonObject
  const compiled = compilePlain(json)
  return {
    json,
    check: (value) => {
      const wrong =
        schema.type === 'object' && isJsonObject(value) ? checkArguments(schema as InputSchema, value) : undefined
      if (wrong !== undefined) return { wrong }
      if (compiled?.accepts(value) !== false) return { value }
      return { wrong: `${violationsText(compiled.violations(value))}.` }
    },
  }
}

async function ask(schema: StandardSchema, value: Json): Promise<Checked> {
  const result = await schema['~standard'].validate(value)
  return result.issues === undefined ? { value: result.value } : { wrong: readIssues(result.issues) }
}
