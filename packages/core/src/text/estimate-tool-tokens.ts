import type { JsonObject } from '../json/json.ts'
import { estimateTokens } from './estimate-tokens.ts'

/** The tokens of a tool in every turn: agents show a model only its name, description and input schema. */
export function estimateToolTokens(wireName: string, { description, inputSchema }: JsonObject): number {
  return estimateTokens(JSON.stringify({ name: wireName, description, input_schema: inputSchema }))
}
