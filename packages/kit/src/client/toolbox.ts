import { isJsonObject, isTextDeeper, type JsonObject, jsonIn, MAX_DEPTH, SallyportError } from '@sallyport/core'
import type { ToolResult } from '../tool-result.ts'
import type { OperationOptions } from './call-clock.ts'
import { RetryableToolError } from './tool-failure.ts'
import { providerNames } from './tool-names.ts'
import { type ProviderSchema, providerSchema } from './tool-schema.ts'

/** What an adapter needs of a client. */
export interface ToolSource {
  listTools(): Promise<
    readonly {
      readonly name: string
      readonly description?: string | undefined
      readonly inputSchema: unknown
    }[]
  >
  callTool(name: string, args?: JsonObject, options?: OperationOptions): Promise<ToolResult>
}

/** A tool as it is shown to a model. */
export interface OfferedTool {
  /** Acceptable to providers; not always the tool's own. */
  readonly name: string
  readonly description: string
  readonly schema: ProviderSchema
}

/** How a call ended that the model may hear of. Everything else is thrown. */
export type ToolOutcome = { readonly result: ToolResult } | { readonly failure: string }

export interface Toolbox {
  readonly tools: readonly OfferedTool[]
  /** Calls by the name that the model knows. A FatalToolError comes out: it must end the loop. */
  call(name: string, args: unknown, options?: OperationOptions): Promise<ToolOutcome>
}

/** All that OpenAI takes; others take more. */
const MAX_DESCRIPTION = 1_024

export async function openToolbox(source: ToolSource): Promise<Toolbox> {
  const listed = await source.listTools()
  const names = providerNames(listed.map(({ name }) => name))
  const ownNames = new Map([...names].map(([own, shown]) => [shown, own]))
  return {
    tools: listed.map(({ name, description = '', inputSchema }) => ({
      name: names.get(name) ?? name,
      description: description.slice(0, MAX_DESCRIPTION),
      schema: providerSchema(inputSchema),
    })),
    call: async (shown, args, options) => {
      const name = ownNames.get(shown)
      if (name === undefined) return { failure: `There is no tool "${shown}".` }
      if (!isJsonObject(args)) return { failure: 'The arguments are no JSON object.' }
      try {
        return { result: await source.callTool(name, args, options) }
      } catch (error) {
        return { failure: textForModel(error) }
      }
    },
  }
}

/** Wrong parameters and unknown names are the model's to correct, although the protocol calls them errors of its own. */
const CORRECTABLE = new Set(['INVALID_PARAMS', 'TOOL_UNKNOWN'])

function textForModel(error: unknown): string {
  if (error instanceof RetryableToolError) return error.message
  if (error instanceof SallyportError && (error.kind.forModel || CORRECTABLE.has(error.code))) return error.text
  throw error
}

/** Arguments as some providers give them: a text that should be JSON. */
export function parseArguments(text: string): unknown {
  if (text.trim() === '') return {}
  return isTextDeeper(text, MAX_DEPTH) ? undefined : jsonIn(text)
}
