import { hash } from 'node:crypto'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@sallyport/core'

export interface Pinnable {
  readonly kind?: string
  readonly name: string
  /** As the server defined it. */
  readonly original: JsonObject
  /** Its pin, where that was kept beside it. */
  readonly keptPin?: string | undefined
}

/** What of a tool people review and models read. */
const REVIEWED = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

/** The same of everything else that a server puts before a model. What a resource contains is data, as its size is. */
const REVIEWED_PARTS: Readonly<Record<string, readonly string[]>> = {
  tool: ['name', ...REVIEWED],
  prompt: ['name', 'title', 'description', 'arguments'],
  resource: ['uri', 'name', 'title', 'description', 'mimeType'],
  template: ['uriTemplate', 'name', 'title', 'description', 'mimeType'],
  instructions: ['text'],
}

const pins = new WeakMap<JsonObject, string>()

/** The digest of a definition as its server gives it. */
export function pinOf(tool: Pinnable): string {
  const known = tool.keptPin ?? pins.get(tool.original)
  if (known !== undefined) return known
  const pin = `sha256-${hash('sha256', reviewedText(tool))}`
  pins.set(tool.original, pin)
  return pin
}

/** Exactly what the pin is the digest of. */
export function reviewedText({ kind = 'tool', name, original }: Pinnable): string {
  const reviewed: Record<string, Json | undefined> = kind === 'tool' ? { name } : {}
  for (const part of REVIEWED_PARTS[kind] ?? ['name']) reviewed[part] ??= original[part]
  return canonicalJson(reviewed as JsonObject)
}

/** What kept pins are of: a version that reviews something else has to make them anew. */
const FORM = REVIEWED.join()

/** The pins of definitions, in their order, as they are kept beside them: to make thousands would hold up a start. */
export const keptPins = (definitions: readonly JsonObject[]): JsonObject => ({
  of: FORM,
  pins: definitions.map((original) => pinOf({ name: String(original.name), original })),
})

/** The pins that were kept beside so many definitions, if they can be taken for theirs. */
export function readPins(kept: unknown, count: number): readonly string[] | undefined {
  if (!isJsonObject(kept) || kept.of !== FORM || !Array.isArray(kept.pins)) return undefined
  return kept.pins.length === count ? (kept.pins as readonly string[]) : undefined
}

/** Takes a kept pin for that of a definition. */
export function recallPin(definition: JsonObject, pin: string): void {
  pins.set(definition, pin)
}
