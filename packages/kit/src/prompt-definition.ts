import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { CallContext } from './call-context.ts'
import { type Content, textContent } from './tool-result.ts'

export interface PromptArgument {
  readonly name: string
  readonly description?: string
  readonly required?: boolean
}

export interface PromptOptions {
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly PromptArgument[]
}

export interface PromptMessage {
  readonly role: 'user' | 'assistant'
  readonly content: Content
}

/** A text becomes one message of the user. */
export type PromptValue = string | readonly PromptMessage[]
export type PromptArguments = Readonly<Record<string, string>>
export type PromptHandler = (args: PromptArguments, context: CallContext) => PromptValue | Promise<PromptValue>

export interface Prompt {
  readonly definition: JsonObject
  readonly options: PromptOptions
  readonly handler: PromptHandler
}

export function definePrompt(name: string, options: PromptOptions, handler: PromptHandler): Prompt {
  return { definition: { name, ...(options as JsonObject) }, options, handler }
}

/** The arguments of a prompt, which are texts always; or a sentence that says what is wrong with them. */
export function readPromptArguments(prompt: Prompt, given: unknown): PromptArguments | string {
  const args = isJsonObject(given) ? given : {}
  for (const { name, required } of prompt.options.arguments ?? []) {
    if (required && !Object.hasOwn(args, name)) return `The argument "${name}" is missing.`
  }
  const wrong = Object.entries(args).find(([, value]) => typeof value !== 'string')
  if (wrong !== undefined) return `The argument "${wrong[0].slice(0, 60)}" is not a text.`
  return args as PromptArguments
}

export function createPromptResult(prompt: Prompt, value: PromptValue): object {
  const messages = typeof value === 'string' ? [{ role: 'user', content: textContent(value) }] : value
  const { description } = prompt.options
  return { ...(description === undefined ? {} : { description }), messages }
}
