import { isJsonObject, type JsonObject } from '@sallyport/core'
import { type CheckedSchema, readSchema, type Schema, type ValueOf } from './schema.ts'
import { ToolRetryError } from './tool-error.ts'

export interface ElicitOptions<Form extends Schema = Schema> {
  /** What the person reads. */
  readonly message: string
  /** The form: an object of texts, numbers, booleans and choices. */
  readonly schema: Form
  /** Names the question for clients of the modern era. Absent: its number within the call. */
  readonly key?: string
}

/** What the person did: filled in the form, refused, or closed it. */
export type Elicited<Form extends Schema = Schema> =
  | { readonly action: 'accept'; readonly content: ValueOf<Form> }
  | { readonly action: 'decline' | 'cancel' }

export interface Elicitation {
  readonly params: JsonObject
  readonly form: CheckedSchema
}

export function createElicitation({ message, schema }: ElicitOptions): Elicitation {
  const form = readSchema(schema, 'input')
  const { $schema: _, ...requestedSchema } = form.json
  return { params: { message, requestedSchema }, form }
}

/** An answer is the word of a client: it counts for no more than it proves. */
export async function readElicited(answer: JsonObject, form: CheckedSchema): Promise<Elicited> {
  const { action, content = {} } = answer
  if (action === 'decline' || action === 'cancel') return { action }
  if (action !== 'accept' || !isJsonObject(content))
    throw new ToolRetryError('The client answered a question with something that is no answer.')
  const checked = await form.check(content)
  if ('wrong' in checked) throw new ToolRetryError(`The answer does not fit the question: ${checked.wrong}`)
  return { action, content: checked.value as never }
}
