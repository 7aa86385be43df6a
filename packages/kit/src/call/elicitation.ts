import { isJsonObject, type JsonObject, SallyportError } from '@sallyport/core'
import { readSchema, type Schema, type SchemaChecker, type ValueOf } from '../schema/schema.ts'
import { ToolRetryError } from '../tool-error.ts'

/** A question to the user of the client, with the form that they fill in. */
export interface ElicitOptions<Form extends Schema = Schema> {
  /** The text that the user reads. */
  readonly message: string
  /** The form: an object of strings, numbers, booleans and choices. */
  readonly schema: Form
  /** Identifies the question for clients of the modern era. Default: its number within the call. */
  readonly key?: string
}

/** What the user did: filled in the form, refused, or closed it. */
export type Elicited<Form extends Schema = Schema> =
  | { readonly action: 'accept'; readonly content: ValueOf<Form> }
  | { readonly action: 'decline' | 'cancel' }

export interface Elicitation {
  readonly params: JsonObject
  readonly form: SchemaChecker
}

export function createElicitation({ message, schema }: ElicitOptions): Elicitation {
  const form = readSchema(schema, 'input', 'the form of a question')
  const { $schema: _, ...requestedSchema } = form.json
  assertFlatForm(requestedSchema)
  return { params: { message, requestedSchema }, form }
}

const FORM_FIELD_TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'array']

/** Clients show only flat forms, and refuse nested ones (2025-11-25, "Requested Schema"). */
function assertFlatForm({ type, properties }: JsonObject): void {
  const fields = isJsonObject(properties) ? Object.entries(properties) : []
  const [unsupported] = fields.find(([, field]) => !isJsonObject(field) || !FORM_FIELD_TYPES.includes(field.type)) ?? []
  if (type === 'object' && unsupported === undefined) return
  throw new SallyportError(
    'USAGE',
    `The form of a question has ${unsupported === undefined ? 'no fields' : `a field "${unsupported}"`} that clients cannot show.`,
    {
      hint: 'Give an object whose fields are strings, numbers, booleans or choices.',
    },
  )
}

/** A client's answer is not trusted: it is checked against the form. */
export async function readElicitAnswer(answer: JsonObject, form: SchemaChecker): Promise<Elicited> {
  const { action, content = {} } = answer
  if (action === 'decline' || action === 'cancel') return { action }
  if (action !== 'accept' || !isJsonObject(content))
    throw new ToolRetryError('The client sent an invalid answer to a question.')
  const checked = await form.check(content)
  if ('wrong' in checked) throw new ToolRetryError(`The answer does not match the form: ${checked.wrong}`)
  return { action, content: checked.value as never }
}
