import type { OperationOptions } from './call-timer.ts'
import type { ProviderSchema } from './provider-schema.ts'
import { createProviderTools, type ToolOutcome, type ToolSource } from './provider-tools.ts'
import { type ResultPart, renderPart, toResultParts } from './result-parts.ts'

/** The tools of a client for the Messages API, and the function that runs the calls of a message. */
export interface AnthropicTools {
  readonly tools: { readonly name: string; readonly description: string; readonly input_schema: ProviderSchema }[]
  /** Runs a call and returns the block that answers it. Throws a FatalToolError if the loop must end. */
  runToolCall(call: AnthropicToolUse, options?: OperationOptions): Promise<AnthropicToolResult>
}

/** The members of a `tool_use` block that are read. */
export interface AnthropicToolUse {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/** The answer to a `tool_use` block, for the next user message. */
export interface AnthropicToolResult {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content: AnthropicContent[]
  readonly is_error: boolean
}

type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

type AnthropicContent =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image'
      readonly source: { readonly type: 'base64'; readonly media_type: ImageType; readonly data: string }
    }

const IMAGE_TYPES: ReadonlySet<string> = new Set<ImageType>(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const isImageType = (type: string): type is ImageType => IMAGE_TYPES.has(type)

/** Offers the tools of a client to the Messages API of Anthropic. */
export async function createAnthropicTools(client: ToolSource): Promise<AnthropicTools> {
  const box = await createProviderTools(client)
  return {
    tools: box.tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    runToolCall: async ({ id, name, input }, options) => {
      const outcome = await box.call(name, input, options)
      return {
        type: 'tool_result',
        tool_use_id: id,
        content: renderContent(outcome),
        is_error: 'failure' in outcome,
      }
    },
  }
}

function renderContent(outcome: ToolOutcome): AnthropicContent[] {
  // The API rejects empty text blocks.
  if ('failure' in outcome) return [{ type: 'text', text: outcome.failure || 'The tool failed.' }]
  return toResultParts(outcome.result)
    .filter((part) => part.kind === 'file' || part.text.trim() !== '')
    .map(renderBlock)
}

function renderBlock(part: ResultPart): AnthropicContent {
  if (part.kind === 'file' && isImageType(part.mimeType))
    return { type: 'image', source: { type: 'base64', media_type: part.mimeType, data: part.data } }
  return { type: 'text', text: renderPart(part) }
}
