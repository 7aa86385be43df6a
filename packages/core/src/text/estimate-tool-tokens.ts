import type { JsonObject } from '../json/json.ts'
import { estimateTokens } from './estimate-tokens.ts'

/** What a tool costs in every turn: agents show a model its name, its description and what it takes, and no more. */
export function estimateToolTokens(wireName: string, { description, inputSchema }: JsonObject): number {
  return estimateTokens(JSON.stringify({ name: wireName, description, input_schema: inputSchema }))
}
