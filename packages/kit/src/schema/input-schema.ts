import { didYouMean, isJsonObject, type Json, type JsonObject, quoteText } from '@sallyport/core'

/** The JSON Schema of a tool's arguments. */
export interface InputSchema {
  readonly type: 'object'
  readonly properties?: Readonly<Record<string, JsonObject>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly [keyword: string]: unknown
}

interface TypeByName {
  readonly string: string
  readonly number: number
  readonly integer: number
  readonly boolean: boolean
  readonly null: null
  readonly array: readonly Json[]
  readonly object: JsonObject
}

/** The TypeScript type of a value, from the outermost type of its schema. */
export type PlainValueOf<Schema> = Schema extends { readonly enum: readonly (infer Choice)[] }
  ? Choice
  : Schema extends { readonly type: infer Name extends keyof TypeByName }
    ? TypeByName[Name]
    : Json

type PropertiesOf<Schema> = Schema extends { readonly properties: infer Properties } ? Properties : object
type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Name)[] } ? Name : never

/** The type of the arguments in a handler: exactly what `checkArguments` proves. */
export type ArgumentsOf<Schema> = {
  readonly [Name in keyof PropertiesOf<Schema> as Name extends RequiredOf<Schema> ? Name : never]: PlainValueOf<
    PropertiesOf<Schema>[Name]
  >
} & {
  readonly [Name in keyof PropertiesOf<Schema> as Name extends RequiredOf<Schema> ? never : Name]?:
    | PlainValueOf<PropertiesOf<Schema>[Name]>
    | undefined
}

/** Checks required fields, top-level types and choices. Returns a sentence about the first problem, or `undefined`. */
export function checkArguments(schema: InputSchema, args: JsonObject): string | undefined {
  for (const field of schema.required ?? []) {
    if (!Object.hasOwn(args, field)) return `The argument "${field}" is missing.`
  }
  const properties = schema.properties ?? {}
  for (const [field, value] of Object.entries(args)) {
    const wrong = Object.hasOwn(properties, field)
      ? checkValue(field, value, properties[field])
      : checkUnknown(field, schema)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

function checkUnknown(field: string, schema: InputSchema): string | undefined {
  if (schema.additionalProperties !== false) return undefined
  const known = Object.keys(schema.properties ?? {})
  const expected = known.length === 0 ? 'This tool takes no arguments.' : `Expected: ${known.join(', ')}.`
  return `There is no argument ${quote(field)}.${didYouMean(field, known)} ${expected}`
}

function checkValue(field: string, value: Json | undefined, schema: JsonObject | undefined): string | undefined {
  const choices = schema?.enum
  if (Array.isArray(choices) && !choices.includes(value as Json))
    return `The argument "${field}" is ${formatValue(value)}; expected one of ${choices.map(formatValue).join(', ')}.`
  const types = expectedTypes(schema?.type)
  if (types.length === 0 || types.some((type) => hasType(value, type))) return undefined
  return `The argument "${field}" is ${formatValue(value)}; expected ${types.join(' or ')}.`
}

const expectedTypes = (type: Json | undefined): readonly string[] => {
  const list: readonly unknown[] = Array.isArray(type) ? type : [type]
  return list.filter((name) => typeof name === 'string')
}

function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isJsonObject(value)
    case 'null':
      return value === null
    default:
      return typeof value === type
  }
}

const MAX_SHOWN_CHARS = 60

/** Formats enough of a value to recognize it: an argument can be megabytes long. */
function formatValue(value: Json | undefined): string {
  if (Array.isArray(value)) return 'an array'
  if (isJsonObject(value)) return 'an object'
  return typeof value === 'string' ? quote(value) : String(value)
}

const quote = (text: string): string => quoteText(text, MAX_SHOWN_CHARS)
