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

/** The part of a client that an adapter needs. */
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

/** A tool as the model sees it. */
export interface ProviderTool {
  /** A name that providers accept; not always the tool's own. */
  readonly name: string
  readonly description: string
  readonly schema: ProviderSchema
}

/** The outcome of a call that the model may see. Every other error is thrown. */
export type ToolOutcome = { readonly result: ToolResult } | { readonly failure: string }

export interface ProviderTools {
  readonly tools: readonly ProviderTool[]
  /** Calls a tool by the name that the model knows. A FatalToolError is thrown: it must end the loop. */
  call(name: string, args: unknown, options?: OperationOptions): Promise<ToolOutcome>
}

/** OpenAI's limit; others allow more. */
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
      if (!isJsonObject(args)) return { failure: 'The arguments are not a JSON object.' }
      try {
        return { result: await source.callTool(name, args, options) }
      } catch (error) {
        return { failure: messageForModel(error) }
      }
    },
  }
}

/** The model can correct invalid parameters and unknown names, although they are protocol errors. */
const CORRECTABLE_CODES = new Set(['INVALID_PARAMS', 'TOOL_UNKNOWN'])

function messageForModel(error: unknown): string {
  if (error instanceof RetryableToolError) return error.message
  if (error instanceof SallyportError && (error.kind.forModel || CORRECTABLE_CODES.has(error.code))) return error.text
  throw error
}

/** Parses the arguments of providers that send them as a JSON string. */
export function parseArguments(text: string): unknown {
  if (text.trim() === '') return {}
  return isJsonDeeperThan(text, MAX_DEPTH) ? undefined : tryParseJson(text)
}
