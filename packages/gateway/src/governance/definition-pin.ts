import { hash } from 'node:crypto'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@sallyport/core'

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

/** What kept pins are of: a version that reviews something else has to make them anew. */
const FORM = REVIEWED.join()

/** The pins of definitions, in their order, as they are kept beside them: to make thousands would hold up a start. */
export const keptPins = (definitions: readonly JsonObject[]): JsonObject => ({
  of: FORM,
  pins: definitions.map((original) => pinOf({ name: String(original.name), original })),
})

/** Takes kept pins for those of the definitions that they were kept beside, if they can be. */
export function recallPins(definitions: readonly JsonObject[], kept: unknown): boolean {
  if (!isJsonObject(kept) || kept.of !== FORM || !Array.isArray(kept.pins)) return false
  const { pins: made } = kept as { readonly pins: readonly unknown[] }
  if (made.length !== definitions.length) return false
  for (const [at, definition] of definitions.entries()) {
    const pin = made[at]
    if (typeof pin === 'string') pins.set(definition, pin)
  }
  return true
}
