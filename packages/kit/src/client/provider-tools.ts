import {
  isJsonDeeperThan,
  isJsonObject,
  type JsonObject,
  MAX_DEPTH,
  SallyportError,
  tryParseJson,
} from '@sallyport/core'
import type { ToolResult } from '../tool-result.ts'
import type { OperationOptions } from './call-timer.ts'
import { toProviderNames } from './provider-names.ts'
import { type ProviderSchema, toProviderSchema } from './provider-schema.ts'
import { RetryableToolError } from './tool-failure.ts'

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
export interface ProviderTool {
  /** Acceptable to providers; not always the tool's own. */
  readonly name: string
  readonly description: string
  readonly schema: ProviderSchema
}

/** How a call ended that the model may hear of. Everything else is thrown. */
export type ToolOutcome = { readonly result: ToolResult } | { readonly failure: string }

export interface ProviderTools {
  readonly tools: readonly ProviderTool[]
  /** Calls by the name that the model knows. A FatalToolError comes out: it must end the loop. */
  call(name: string, args: unknown, options?: OperationOptions): Promise<ToolOutcome>
}

/** All that OpenAI takes; others take more. */
const MAX_DESCRIPTION_LENGTH = 1_024

export async function createProviderTools(source: ToolSource): Promise<ProviderTools> {
  const listed = await source.listTools()
  const names = toProviderNames(listed.map(({ name }) => name))
  const ownNames = new Map([...names].map(([own, shown]) => [shown, own]))
  return {
    tools: listed.map(({ name, description = '', inputSchema }) => ({
      name: names.get(name) ?? name,
      description: description.slice(0, MAX_DESCRIPTION_LENGTH),
      schema: toProviderSchema(inputSchema),
    })),
    call: async (shown, args, options) => {
      const name = ownNames.get(shown)
      if (name === undefined) return { failure: `There is no tool "${shown}".` }
      if (!isJsonObject(args)) return { failure: 'The arguments are no JSON object.' }
      try {
        return { result: await source.callTool(name, args, options) }
      } catch (error) {
        return { failure: messageForModel(error) }
      }
    },
  }
}

/** Wrong parameters and unknown names are the model's to correct, although the protocol calls them errors of its own. */
const CORRECTABLE_CODES = new Set(['INVALID_PARAMS', 'TOOL_UNKNOWN'])

function messageForModel(error: unknown): string {
  if (error instanceof RetryableToolError) return error.message
  if (error instanceof SallyportError && (error.kind.forModel || CORRECTABLE_CODES.has(error.code))) return error.text
  throw error
}

/** Arguments as some providers give them: a text that should be JSON. */
export function parseArguments(text: string): unknown {
  if (text.trim() === '') return {}
  return isJsonDeeperThan(text, MAX_DEPTH) ? undefined : tryParseJson(text)
}
