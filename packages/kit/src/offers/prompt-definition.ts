import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { CallContext } from '../call/call.ts'
import { type Content, readContent, textContent } from '../tool-result.ts'
import type { Completer } from './completion.ts'
import type { Icon } from './icon.ts'

/** An argument of a prompt, as clients show it. */
export interface PromptArgument {
  readonly name: string
  readonly description?: string
  readonly required?: boolean
  /** Suggests values to clients that offer completion. */
  readonly complete?: Completer
}

/** How a prompt is described to clients. */
export interface PromptOptions {
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly PromptArgument[]
  readonly icons?: readonly Icon[]
}

/** One message of a prompt. */
export interface PromptMessage {
  readonly role: 'user' | 'assistant'
  readonly content: Content
}

/** A text becomes one message of the user. */
export type PromptValue = string | readonly PromptMessage[]
export type PromptArguments = Readonly<Record<string, string>>
/** Produces the messages of a prompt from its arguments. */
export type PromptHandler = (args: PromptArguments, context: CallContext) => PromptValue | Promise<PromptValue>

export interface Prompt {
  readonly definition: JsonObject
  readonly options: PromptOptions
  readonly handler: PromptHandler
  readonly completers: ReadonlyMap<string, Completer | undefined>
}

export function definePrompt(name: string, options: PromptOptions, handler: PromptHandler): Prompt {
  const { arguments: args, ...rest } = options
  const shown = args?.map(({ complete: _, ...argument }) => argument)
  return {
    definition: { name, ...(rest as JsonObject), ...(shown === undefined ? {} : { arguments: shown }) },
    options,
    handler,
    completers: new Map(args?.map(({ name: argument, complete }) => [argument, complete])),
  }
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
  const messages = typeof value === 'string' ? [{ role: 'user', content: textContent(value) }] : readMessages(value)
  const { description } = prompt.options
  return { ...(description === undefined ? {} : { description }), messages }
}

/** The messages and nothing that came with them: what a remote API said is data here too. */
function readMessages(value: unknown): readonly PromptMessage[] {
  if (!Array.isArray(value)) throw new TypeError('A prompt returned neither a string nor an array of messages.')
  return value.map((message: unknown, index) => {
    const { role, content } = isJsonObject(message) ? message : {}
    if (role !== 'user' && role !== 'assistant')
      throw new TypeError(`messages[${index}].role of a prompt is not "user" or "assistant".`)
    return { role, content: readContent(content, `messages[${index}].content`) }
  })
}
