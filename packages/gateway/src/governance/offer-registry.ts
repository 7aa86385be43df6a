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

/** The key of an offer's record. */
interface OfferKey {
  readonly kind: string
  readonly server: string
  readonly name: string
}

type InspectedOffer = OfferKey & Pinnable

/** The maximum length of one list of a server. The limit is per server, so that no server can use up the space of others. */
const MAX_RECORDS = 20_000

/** Stores a record of everything that servers offer, whether or not tools.yaml has an entry for it. */
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

  /** The digests of all records. */
  get pins(): readonly string[] {
    return [...this.#servers.values()].flatMap((records) => [...records.values()].flatMap(({ pin }) => pin || []))
  }

  /** Whether a server has reached the maximum number of records of a kind. */
  isFull(server: string, kind: string): boolean {
    this.#load(server)
    return (this.#counts.get(joinKey(server, kind)) ?? 0) >= this.#maxRecords
  }

  /** Stores the records up to the limit. Returns false if they are in memory but could not be stored on disk. */
  save(server: string, records: readonly OfferRecord[]): boolean {
    if (records.length === 0) return true
    const accepted = records.filter((record) => {
      const hasRoom = this.find({ server, ...record }) !== undefined || !this.isFull(server, record.kind)
      if (hasRoom) this.#set(server, record)
      return hasRoom
    })
    return this.#records.save(server, accepted)
  }

  /** Stores what a person accepted, regardless of the limit. Returns false if it could not be stored on disk. */
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

/** Identifies an inspection: the version of the rules and the whole definition, including the parts that are not pinned. */
export const inspectionKey = (offer: InspectedOffer): string =>
  `${INSPECTION_VERSION} ${computePin(offer)} ${digestUnpinned(offer)}`.trimEnd()

const inspectionCache = new WeakMap<JsonObject, readonly Finding[]>()

/** The findings in a definition that a person should review. They come from the record if it is about the same definition. */
export function resolveFindings(offer: InspectedOffer, record: OfferRecord | undefined): readonly Finding[] {
  if (record?.inspected === inspectionKey(offer)) return record.findings
  // A `share` finding does not depend on the definition, so it stays valid.
  return [...inspectOffer(offer), ...(record?.findings ?? []).filter(({ kind }) => kind === 'share')]
}

/** Inspects the definition without a record. */
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

/** Mentions of other servers' tools. They are searched again when the set of tools changes. */
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
  /** The definition as the server sent it. */
  readonly original: JsonObject
  /** The stored digests, if there are any. */
  readonly storedDigests?: StoredDigests | undefined
}

export interface StoredDigests {
  readonly pin: string
  /** The digest of everything that the pin does not cover; empty if there is nothing else. */
  readonly rest: string
}

/** The parts of a tool that people review and models read. */
const REVIEWED = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

/** The same for everything else that a model can see. The content and the size of a resource are data and not reviewed. */
const REVIEWED_PARTS: Readonly<Record<string, readonly string[]>> = {
  tool: ['name', ...REVIEWED],
  prompt: ['name', 'title', 'description', 'arguments'],
  resource: ['uri', 'name', 'title', 'description', 'mimeType'],
  template: ['uriTemplate', 'name', 'title', 'description', 'mimeType'],
  instructions: ['text'],
}

const pins = new WeakMap<JsonObject, string>()
const rests = new WeakMap<JsonObject, string>()

/** The digest of a definition as its server sent it. */
export function computePin(tool: Pinnable): string {
  const known = tool.storedDigests?.pin ?? pins.get(tool.original)
  if (known !== undefined) return known
  const pin = `sha256-${hash('sha256', reviewedText(tool))}`
  pins.set(tool.original, pin)
  return pin
}

/** The exact text that the pin is the digest of. */
export function reviewedText({ kind = 'tool', name, original }: Pinnable): string {
  const reviewed: Record<string, Json | undefined> = kind === 'tool' ? { name } : {}
  for (const part of REVIEWED_PARTS[kind] ?? ['name']) reviewed[part] ??= original[part]
  return canonicalJson(reviewed as JsonObject)
}

/** The digest of the other members (`_meta`, `icons`, custom ones). They are not pinned, but clients get them. */
function digestUnpinned({
  kind = 'tool',
  original,
  storedDigests,
}: Pick<Pinnable, 'kind' | 'original' | 'storedDigests'>): string {
  const known = storedDigests?.rest ?? rests.get(original)
  if (known !== undefined) return known
  const pinned = REVIEWED_PARTS[kind] ?? []
  // A number, such as the size of a resource, cannot instruct a model.
  const others = Object.entries(original).filter(([part, value]) => !pinned.includes(part) && typeof value !== 'number')
  const rest = others.length === 0 ? '' : hash('sha256', canonicalJson(Object.fromEntries(others) as JsonObject))
  rests.set(original, rest)
  return rest
}

/** The parts that stored digests cover. A version that reviews other parts must compute them again. */
const DIGEST_FORMAT = [...REVIEWED, 'rest'].join()

/** The digests of tools, in order, for storage: computing thousands of them would slow down a start. */
export const encodeDigests = (definitions: readonly JsonObject[]): JsonObject => ({
  of: DIGEST_FORMAT,
  pins: definitions.map((original) => computePin({ name: String(original.name), original })),
  rests: definitions.map((original) => digestUnpinned({ original })),
})

/** The stored digests of `count` tools; `undefined` if they do not fit. */
export function decodeDigests(stored: unknown, count: number): readonly StoredDigests[] | undefined {
  if (!isJsonObject(stored) || stored.of !== DIGEST_FORMAT) return undefined
  const { pins, rests } = stored
  if (!Array.isArray(pins) || !Array.isArray(rests) || pins.length !== count || rests.length !== count) return undefined
  return pins.map((pin, at) => ({ pin: String(pin), rest: String(rests[at]) }))
}

/** Uses a stored pin for a definition. */
export function cachePin(definition: JsonObject, pin: string): void {
  pins.set(definition, pin)
}
