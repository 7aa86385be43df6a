import {
  type SchemaValidator as Compiled,
  compileSimpleSchema,
  compileTrustedSchema,
  formatViolations,
  isJsonObject,
  type Json,
  type JsonObject,
  messageOf,
  quoteText,
  SallyportError,
} from '@sallyport/core'
import { type ArgumentsOf, checkArguments, type InputSchema, type PlainValueOf } from './input-schema.ts'

/** A JSON Schema of an object, or a schema of a library that can convert it to JSON Schema (zod 4, ArkType, …). */
export type Schema = InputSchema | StandardSchema

/** Any JSON Schema. */
export type PlainSchema = JsonObject & { readonly '~standard'?: never }

/** The type of the checked arguments that a handler receives. */
export type ValueOf<Given> = Given extends StandardSchema ? OutputOf<Given> : ArgumentsOf<Given>

/** The type that a handler may return for an output schema. */
export type ReturnValueFor<Given> = Given extends StandardSchema<infer Input> ? Input : PlainValueOf<Given>

export type CheckResult = { readonly value: unknown } | { readonly wrong: string }

/** A schema that was read: its JSON Schema for others, and the check of values. */
export interface SchemaChecker {
  readonly json: JsonObject
  check(value: Json): CheckResult | Promise<CheckResult>
}

/** `input`: values before the schema transforms them. `output`: values after that. */
export type Direction = 'input' | 'output'

/** Throws if the schema cannot be checked. `what` names it in the message. */
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

/** Reads the schema of a tool that somebody else wrote: the program that offers it checks the rest in a worker thread. */
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
  // If an argument is the problem, the message names it.
  const wrong =
    schema.type === 'object' && isJsonObject(value) ? checkArguments(schema as InputSchema, value) : undefined
  return { wrong: wrong ?? `${formatViolations(compiled.violations(value))}.` }
}

async function checkStandard(schema: StandardSchema, value: Json): Promise<CheckResult> {
  const result = await schema['~standard'].validate(value)
  return result.issues === undefined ? { value: result.value } : { wrong: formatIssues(result.issues) }
}

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

type ValidationResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[]; readonly value?: undefined }

interface ConversionOptions {
  readonly target: 'draft-2020-12'
}

/** A schema of any library that follows standardschema.dev and can be converted to JSON Schema. */
export interface StandardSchema<Input = unknown, Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => ValidationResult<Output> | Promise<ValidationResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly jsonSchema: {
      readonly input: (options: ConversionOptions) => Record<string, unknown>
      readonly output: (options: ConversionOptions) => Record<string, unknown>
    }
  }
}

type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output']

/** ArkType's schemas are functions. */
function isStandardSchema(schema: object): schema is StandardSchema {
  return '~standard' in schema
}

function toJsonSchema(schema: StandardSchema, direction: 'input' | 'output'): JsonObject {
  const { vendor, jsonSchema } = schema['~standard']
  const convert = jsonSchema?.[direction]
  if (typeof convert !== 'function')
    throw new SallyportError('USAGE', `This schema of ${quoteText(vendor, 40)} cannot be converted to JSON Schema.`, {
      hint: 'Use a version of the library that has "~standard".jsonSchema (zod: 4.2 or later), or give a JSON Schema.',
    })
  try {
    const json = convert({ target: 'draft-2020-12' })
    if (isJsonObject(json)) return json
  } catch (error) {
    throw new SallyportError('USAGE', `A schema cannot be converted to JSON Schema: ${messageOf(error)}.`, {
      hint: 'Use only types that JSON has: a date, for example, must be a string.',
      cause: error,
    })
  }
  throw new SallyportError(
    'USAGE',
    `A schema of ${quoteText(vendor, 40)} returned a JSON Schema that is not an object.`,
  )
}

const MAX_ISSUES = 5
const MAX_ISSUE_LENGTH = 300

/** The issues as one text for a model to correct. */
function formatIssues(issues: readonly Issue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const location = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return `${location === '' ? '' : `${location.slice(0, 100)}: `}${message.slice(0, MAX_ISSUE_LENGTH)}`
  })
  return [...shown, ...(issues.length > shown.length ? ['and more'] : [])].join('; ')
}
