import { hash } from 'node:crypto'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@sallyport/core'

export interface Pinnable {
  readonly kind?: string
  readonly name: string
  /** As the server defined it. */
  readonly original: JsonObject
  /** Its digests, where they were kept beside it. */
  readonly kept?: StoredDigests | undefined
}

export interface StoredDigests {
  readonly pin: string
  /** Of what the pin does not cover; empty where there is nothing else. */
  readonly rest: string
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
const rests = new WeakMap<JsonObject, string>()

/** The digest of a definition as its server gives it. */
export function pinOf(tool: Pinnable): string {
  const known = tool.kept?.pin ?? pins.get(tool.original)
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

/** The digest of what a definition says besides (`_meta`, `icons`, made-up members): it is not pinned, but clients get it. */
export function digestUnpinned({
  kind = 'tool',
  original,
  kept,
}: Pick<Pinnable, 'kind' | 'original' | 'kept'>): string {
  const known = kept?.rest ?? rests.get(original)
  if (known !== undefined) return known
  const pinned = REVIEWED_PARTS[kind] ?? []
  // A number, such as the size of a resource, says nothing to a model.
  const others = Object.entries(original).filter(([part, value]) => !pinned.includes(part) && typeof value !== 'number')
  const rest = others.length === 0 ? '' : hash('sha256', canonicalJson(Object.fromEntries(others) as JsonObject))
  rests.set(original, rest)
  return rest
}

/** What kept digests are of: a version that reviews something else has to make them anew. */
const DIGEST_FORMAT = [...REVIEWED, 'rest'].join()

/** The digests of tools, in their order, as they are kept beside them: to make thousands would hold up a start. */
export const encodeDigests = (definitions: readonly JsonObject[]): JsonObject => ({
  of: DIGEST_FORMAT,
  pins: definitions.map((original) => pinOf({ name: String(original.name), original })),
  rests: definitions.map((original) => digestUnpinned({ original })),
})

/** The digests that were kept beside so many tools, if they can be taken for theirs. */
export function decodeDigests(kept: unknown, count: number): readonly StoredDigests[] | undefined {
  if (!isJsonObject(kept) || kept.of !== DIGEST_FORMAT) return undefined
  const { pins: read, rests } = kept
  if (!Array.isArray(read) || !Array.isArray(rests) || read.length !== count || rests.length !== count) return undefined
  return read.map((pin, at) => ({ pin: String(pin), rest: String(rests[at]) }))
}

/** Takes a kept pin for that of a definition. */
export function cachePin(definition: JsonObject, pin: string): void {
  pins.set(definition, pin)
}
