import { hash } from 'node:crypto'
import { canonicalJson, type Json, type JsonObject } from '@sallyport/core'

export interface Pinnable {
  readonly name: string
  /** As the server defined it. */
  readonly original: JsonObject
}

/** What of a tool people review and models read. */
const REVIEWED = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

const pins = new WeakMap<JsonObject, string>()

/** The digest of a definition as its server gives it. */
export function pinOf(tool: Pinnable): string {
  const known = pins.get(tool.original)
  if (known !== undefined) return known
  const pin = `sha256-${hash('sha256', reviewedText(tool))}`
  pins.set(tool.original, pin)
  return pin
}

/** Exactly what the pin is the digest of. */
export function reviewedText({ name, original }: Pinnable): string {
  const reviewed: Record<string, Json | undefined> = { name }
  for (const part of REVIEWED) reviewed[part] = original[part]
  return canonicalJson(reviewed as JsonObject)
}
