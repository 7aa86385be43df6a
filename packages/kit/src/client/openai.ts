import type { OperationOptions } from './call-timer.ts'
import type { ProviderSchema } from './provider-schema.ts'
import { createProviderTools, parseArguments, type ToolOutcome, type ToolSource } from './provider-tools.ts'
import { type ResultPart, renderPart, toResultParts } from './result-parts.ts'

type ToolParameters = ProviderSchema & Record<string, unknown>

/** The tools of a client for `chat.completions`, and the function that runs the calls of a message. */
export interface ChatTools {
  readonly tools: {
    readonly type: 'function'
    readonly function: { readonly name: string; readonly description: string; readonly parameters: ToolParameters }
  }[]
  /** Runs a call and returns the message that answers it. Throws a FatalToolError if the loop must end. */
  runToolCall(call: ChatToolCall, options?: OperationOptions): Promise<ChatToolMessage>
}

/** A call of `chat.completions`. Custom tools are not handled. */
export interface ChatToolCall {
  readonly id: string
  readonly type: string
  readonly function?: { readonly name: string; readonly arguments: string }
}

/** The answer to a tool call of the Chat Completions API. */
export interface ChatToolMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

/** Offers the tools of a client to the Chat Completions API of OpenAI. */
export async function createChatTools(client: ToolSource): Promise<ChatTools> {
  const box = await createProviderTools(client)
  return {
    tools: box.tools.map(({ name, description, schema }) => ({
      type: 'function',
      function: { name, description, parameters: { ...schema } },
    })),
    runToolCall: async ({ id, function: called }, options) => {
      const { name = '', arguments: args = '' } = called ?? {}
      const outcome = await box.call(name, parseArguments(args), options)
      return { role: 'tool', tool_call_id: id, content: renderOutcome(outcome) }
    },
  }
}

/** The tools of a client for the Responses API, and the function that runs the calls of its output. */
export interface ResponsesTools {
  readonly tools: {
    readonly type: 'function'
    readonly name: string
    readonly description: string
    readonly parameters: ToolParameters
    readonly strict: false
  }[]
  /** Runs a call and returns the item that answers it. Throws a FatalToolError if the loop must end. */
  runToolCall(call: ResponsesToolCall, options?: OperationOptions): Promise<ResponsesToolOutput>
}

/** The members of a `function_call` item that are read. */
export interface ResponsesToolCall {
  readonly call_id: string
  readonly name: string
  readonly arguments: string
}

/** The answer to a tool call of the Responses API. */
export interface ResponsesToolOutput {
  readonly type: 'function_call_output'
  readonly call_id: string
  readonly output: string | ResponsesContent[]
}

type ResponsesContent =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly detail: 'auto'; readonly image_url: string }

/** Offers the tools of a client to the Responses API of OpenAI. */
export async function createResponsesTools(client: ToolSource): Promise<ResponsesTools> {
  const box = await createProviderTools(client)
  return {
    tools: box.tools.map(({ name, description, schema }) => ({
      type: 'function',
      name,
      description,
      parameters: { ...schema },
      strict: false,
    })),
    runToolCall: async ({ call_id, name, arguments: args }, options) => {
      const outcome = await box.call(name, parseArguments(args), options)
      return { type: 'function_call_output', call_id, output: renderResponsesOutput(outcome) }
    },
  }
}

/** The API has no error flag, so the text itself must say that the call failed. */
function renderOutcome(outcome: ToolOutcome): string {
  if ('failure' in outcome) return `Error: ${outcome.failure}`
  return toResultParts(outcome.result).map(renderPart).join('\n')
}

const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/

function renderResponsesOutput(outcome: ToolOutcome): string | ResponsesContent[] {
  if ('failure' in outcome) return renderOutcome(outcome)
  const parts = toResultParts(outcome.result)
  return parts.some(({ kind }) => kind === 'file') ? parts.map(renderResponsesContent) : renderOutcome(outcome)
}

function renderResponsesContent(part: ResultPart): ResponsesContent {
  if (part.kind === 'text' || !IMAGE_TYPE.test(part.mimeType)) return { type: 'input_text', text: renderPart(part) }
  return { type: 'input_image', detail: 'auto', image_url: `data:${part.mimeType};base64,${part.data}` }
}
