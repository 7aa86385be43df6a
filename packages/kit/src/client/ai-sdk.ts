import type { ToolResult } from '../tool-result.ts'
import type { AiSdkCallOptions, AiSdkTool } from './ai-sdk-tool.ts'
import { createProviderTools, type ProviderTools, type ToolSource } from './provider-tools.ts'
import { type ResultPart, toResultParts } from './result-parts.ts'
import { FatalToolError, RetryableToolError } from './tool-failure.ts'

export type { AiSdkTool } from './ai-sdk-tool.ts'

/** The tools of a client for `generateText`, `streamText` and agents of the AI SDK. */
export async function createAiSdkTools(client: ToolSource): Promise<Record<string, AiSdkTool>> {
  const { jsonSchema } = await import('ai')
  const box = await createProviderTools(client)
  const tools = box.tools.map(({ name, description, schema }): [string, AiSdkTool] => [
    name,
    {
      description,
      inputSchema: jsonSchema(schema as object) as never,
      execute: createExecute(box, name),
      toModelOutput: ({ output }) => renderModelOutput(output as ToolResult | FatalToolError) as never,
    },
  ])
  return Object.fromEntries(tools)
}

/**
 * The AI SDK shows a thrown error to the model and continues. So a fatal error is returned, and thrown when the SDK asks
 * how to show it to the model: nothing catches it there, so it ends the loop.
 */
function createExecute(box: ProviderTools, name: string): AiSdkTool['execute'] {
  return async (input: unknown, { abortSignal }: AiSdkCallOptions) => {
    try {
      const outcome = await box.call(name, input, abortSignal === undefined ? {} : { signal: abortSignal })
      if ('result' in outcome) return outcome.result
      throw new RetryableToolError(name, outcome.failure)
    } catch (error) {
      if (error instanceof FatalToolError) return error
      throw error
    }
  }
}

function renderModelOutput(output: ToolResult | FatalToolError): object {
  if (output instanceof FatalToolError) throw output
  const parts = toResultParts(output)
  if (parts.every(({ kind }) => kind === 'text')) return { type: 'text', value: joinText(parts) }
  return { type: 'content', value: parts.map(renderContentPart) }
}

const joinText = (parts: readonly ResultPart[]): string =>
  parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')

const renderContentPart = (part: ResultPart): object =>
  part.kind === 'text'
    ? { type: 'text', text: part.text }
    : { type: 'file', mediaType: part.mimeType, data: { type: 'data', data: part.data } }
