import { isJsonObject, type JsonObject, messageOf, quoteText, SallyportError } from '@sallyport/core'

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

/** A schema of any library that follows standardschema.dev and can give JSON Schema. */
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

export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output']

/** ArkType's schemas are functions. */
export function isStandardSchema(schema: object): schema is StandardSchema {
  return '~standard' in schema
}

export function toJsonSchema(schema: StandardSchema, direction: 'input' | 'output'): JsonObject {
  const { vendor, jsonSchema } = schema['~standard']
  const convert = jsonSchema?.[direction]
  if (typeof convert !== 'function')
    throw new SallyportError('USAGE', `This schema of ${quoteText(vendor, 40)} cannot be told as JSON Schema.`, {
      hint: 'Use a version of the library that has "~standard".jsonSchema (zod: 4.2 or later), or give a JSON Schema.',
    })
  try {
    const json = convert({ target: 'draft-2020-12' })
    if (isJsonObject(json)) return json
  } catch (error) {
    throw new SallyportError('USAGE', `A schema cannot be told as JSON Schema: ${messageOf(error)}.`, {
      hint: 'Use only types that JSON has: a date, for example, travels as a text.',
      cause: error,
    })
  }
  throw new SallyportError('USAGE', `A schema of ${quoteText(vendor, 40)} gave no object as its JSON Schema.`)
}

const MAX_ISSUES = 5
const MAX_ISSUE_LENGTH = 300

/** The issues as one text for a model that has to correct them. */
export function formatIssues(issues: readonly Issue[]): string {
  const told = issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return `${place === '' ? '' : `${place.slice(0, 100)}: `}${message.slice(0, MAX_ISSUE_LENGTH)}`
  })
  return [...told, ...(issues.length > told.length ? ['and more'] : [])].join('; ')
}
