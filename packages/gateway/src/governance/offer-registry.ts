import { hash } from 'node:crypto'
import {
  canonicalJson,
  type Finding,
  findOtherTools,
  findPoison,
  INSPECTION_VERSION,
  isJsonObject,
  type Json,
  type JsonObject,
  type Neighbors,
} from '@sallyport/core'
import type { OfferRecord, OfferRecords } from '../store/store.ts'

/** What the record of an offer is found by. */
interface OfferKey {
  readonly kind: string
  readonly server: string
  readonly name: string
}

type InspectedOffer = OfferKey & Pinnable

/** As many as one list of a server can have. A server that makes up more fills its own room and nobody else's. */
const MAX_RECORDS = 20_000

/** What is remembered of everything that servers offer, whether tools.yaml has an entry for it or not. */
export class OfferRegistry {
  readonly #records: OfferRecords
  readonly #maxRecords: number
  readonly #servers = new Map<string, Map<string, OfferRecord>>()
  readonly #counts = new Map<string, number>()

  constructor(records: OfferRecords, maxRecords = MAX_RECORDS) {
    this.#records = records
    this.#maxRecords = maxRecords
  }

  find({ server, kind, name }: OfferKey): OfferRecord | undefined {
    return this.#load(server).get(joinKey(kind, name))
  }

  /** Every digest that a record is about. */
  get pins(): readonly string[] {
    return [...this.#servers.values()].flatMap((records) => [...records.values()].flatMap(({ pin }) => pin || []))
  }

  /** Whether a server has as many of a kind as can be remembered. */
  isFull(server: string, kind: string): boolean {
    this.#load(server)
    return (this.#counts.get(joinKey(server, kind)) ?? 0) >= this.#maxRecords
  }

  /** Remembers them, as far as there is room. False: they are in memory, but could not be stored. */
  save(server: string, records: readonly OfferRecord[]): boolean {
    if (records.length === 0) return true
    const taken = records.filter((record) => {
      const hasRoom = this.find({ server, ...record }) !== undefined || !this.isFull(server, record.kind)
      if (hasRoom) this.#set(server, record)
      return hasRoom
    })
    return this.#records.save(server, taken)
  }

  /** Remembers what a person accepted, for which there is always room. False: it could not be stored. */
  put(server: string, record: OfferRecord): boolean {
    this.#set(server, record)
    return this.#records.save(server, [record])
  }

  #set(server: string, record: OfferRecord): void {
    const known = this.#load(server)
    const key = joinKey(record.kind, record.name)
    if (!known.has(key)) this.#count(server, record.kind)
    known.set(key, record)
  }

  #load(server: string): Map<string, OfferRecord> {
    const known = this.#servers.get(server)
    if (known !== undefined) return known
    const records = new Map<string, OfferRecord>()
    this.#servers.set(server, records)
    for (const record of this.#records.load(server)) {
      records.set(joinKey(record.kind, record.name), record)
      this.#count(server, record.kind)
    }
    return records
  }

  #count(server: string, kind: string): void {
    const key = joinKey(server, kind)
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }
}

const joinKey = (one: string, other: string): string => `${one} ${other}`

/** By which rules, and of which definition, something was found: of all its texts, also those that are not pinned. */
export const inspectionKey = (offer: InspectedOffer): string =>
  `${INSPECTION_VERSION} ${pinOf(offer)} ${digestUnpinned(offer)}`.trimEnd()

const inspectionCache = new WeakMap<JsonObject, readonly Finding[]>()

/** What its own definition holds that a person should look at; from its record where that is about this very definition. */
export function resolveFindings(offer: InspectedOffer, record: OfferRecord | undefined): readonly Finding[] {
  if (record?.inspected === inspectionKey(offer)) return record.findings
  // That it is beyond a share does not hang on what it says.
  return [...inspectOffer(offer), ...(record?.findings ?? []).filter(({ kind }) => kind === 'share')]
}

/** The same without a record. */
export function inspectOffer({ original }: InspectedOffer): readonly Finding[] {
  const known = inspectionCache.get(original)
  if (known !== undefined) return known
  const findings = findPoison(original)
  inspectionCache.set(original, findings)
  return findings
}

const neighborCache = new WeakMap<
  JsonObject,
  { readonly neighbours: Neighbors; readonly findings: readonly Finding[] }
>()

/** What it says of other servers' tools: looked for again when others are there. */
export function findNeighborMentions(
  { server, name, original }: InspectedOffer,
  neighbours: Neighbors,
): readonly Finding[] {
  const known = neighborCache.get(original)
  if (known?.neighbours === neighbours) return known.findings
  const findings = findOtherTools(original, { server, name, ...neighbours })
  neighborCache.set(original, { neighbours, findings })
  return findings
}

interface Pinnable {
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
function digestUnpinned({ kind = 'tool', original, kept }: Pick<Pinnable, 'kind' | 'original' | 'kept'>): string {
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
