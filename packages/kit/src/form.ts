import type { JsonObject } from '@sallyport/core'

/** A form that a server shows to the user of a client. */
export interface Form {
  readonly message: string
  readonly requestedSchema: JsonObject
}

/** The user's answer to a form. */
export type FormAnswer =
  | { readonly action: 'accept'; readonly content: JsonObject }
  | { readonly action: 'decline' | 'cancel' }

/** Answers the forms that a server sends, for example by asking a person. */
export type FormAnswerer = (form: Form) => FormAnswer | Promise<FormAnswer>
