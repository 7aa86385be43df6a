import {
  type SchemaValidator as Compiled,
  compileSimpleSchema,
  compileTrustedSchema,
  formatViolations,
  isJsonObject,
  type Json,
  type JsonObject,
  quoteText,
  SallyportError,
} from '@sallyport/core'
import { type ArgumentsOf, checkArguments, type InputSchema, type PlainValueOf } from './input-schema.ts'
import { formatIssues, isStandardSchema, type OutputOf, type StandardSchema, toJsonSchema } from './standard-schema.ts'

/** A JSON Schema of an object, or a schema of a library that can say what it is in JSON Schema (zod 4, ArkType, …). */
export type Schema = InputSchema | StandardSchema

/** Any JSON Schema. */
export type PlainSchema = JsonObject & { readonly '~standard'?: never }

/** What a handler gets once its arguments are checked. */
export type ValueOf<Given> = Given extends StandardSchema ? OutputOf<Given> : ArgumentsOf<Given>

/** What a handler may return for an output schema. */
export type ReturnValueFor<Given> = Given extends StandardSchema<infer Input> ? Input : PlainValueOf<Given>

export type CheckResult = { readonly value: unknown } | { readonly wrong: string }

/** A schema that was read: what others are shown of it, and how values are checked. */
export interface SchemaChecker {
  readonly json: JsonObject
  check(value: Json): CheckResult | Promise<CheckResult>
}

/** `input`: what comes in before the schema has changed it; `output`: what it makes of it. */
export type Direction = 'input' | 'output'

/** Throws if the schema, which is that of `what`, says something that cannot be checked. */
export function readSchema(schema: Schema | PlainSchema, direction: Direction, what: string): SchemaChecker {
  if (isStandardSchema(schema))
    return { json: toJsonSchema(schema, direction), check: (value) => checkStandard(schema, value) }
  if (!isJsonObject(schema))
    throw new SallyportError('USAGE', 'A schema is neither a JSON Schema nor a Standard Schema.')
  const json = schema as JsonObject
  const compiled = compileTrustedSchema(json)
  if ('unsupported' in compiled)
    throw new SallyportError(
      'USAGE',
      `The schema of ${what} cannot be checked: ${quoteText(compiled.unsupported, 60)} is not supported, or has an invalid value.`,
      { hint: 'Write it with other keywords of JSON Schema 2020-12, or give a Standard Schema such as that of zod.' },
    )
  return { json, check: (value) => checkPlain(json, compiled.schema, value) }
}

/** The schema of a tool that somebody else wrote: whoever offers it checks the rest, off the main thread. */
export function readForeignSchema(schema: InputSchema): SchemaChecker {
  const json = schema as JsonObject
  const compiled = compileSimpleSchema(json)
  return {
    json,
    check: (value) => (compiled?.accepts(value) === false ? checkPlain(json, compiled, value) : { value }),
  }
}

function checkPlain(schema: JsonObject, compiled: Compiled, value: Json): CheckResult {
  const accepts = compiled.accepts(value)
  if (accepts === true) return { value }
  if (accepts === undefined)
    return { wrong: 'The value is too large, or nested too deeply, to be checked. Give less at once.' }
  // In words that name arguments, where it is one of them that is wrong.
  const wrong =
    schema.type === 'object' && isJsonObject(value) ? checkArguments(schema as InputSchema, value) : undefined
  return { wrong: wrong ?? `${formatViolations(compiled.violations(value))}.` }
}

async function checkStandard(schema: StandardSchema, value: Json): Promise<CheckResult> {
  const result = await schema['~standard'].validate(value)
  return result.issues === undefined ? { value: result.value } : { wrong: formatIssues(result.issues) }
}
