import {
  hasMoreValues,
  isDeeperThan,
  isJsonObject,
  type Json,
  type JsonObject,
  printExactJson,
  readMcpParams,
  type ToolDefinition,
} from '@sallyport/core'
import { parseExactFrame } from './answers/parse-frame.ts'
import type { QuestionScope } from './client.ts'
import { type HandshakeResult, parseResult } from './link/handshake.ts'
import type { Link } from './link/link.ts'
import type { RevealedItems } from './own-lists.ts'
import type { UpstreamConfig } from './upstream-config.ts'

export interface OmittedItem {
  readonly name: string
  readonly reason: string
}

/** Everything that one server offers. */
export interface ServerCatalog extends HandshakeResult {
  readonly tools: readonly ToolDefinition[]
  readonly resources: readonly JsonObject[]
  readonly resourceTemplates: readonly JsonObject[]
  readonly prompts: readonly JsonObject[]
  /** Entries that it listed and we do not offer, with the reasons. */
  readonly leftOut: readonly OmittedItem[]
  /** It is a legacy server that asks questions of its clients: they do not share one connection to it. */
  readonly asks?: QuestionScope | undefined
  /** What only some connections to the server list: each client sees those of its own connection. */
  readonly revealed?: RevealedItems | undefined
  /** Until when each list is fresh, by the system clock; a list without a lifetime is missing here. */
  readonly freshUntil?: FreshUntil
}

export type FreshUntil = { readonly [key in ListPlan['key']]?: number }

const MAX_PAGES = 200
const MAX_ITEMS = 20_000
const MAX_ITEM_BYTES = 256_000
const MAX_ITEM_DEPTH = 64
/** No model reads a larger schema, and clients could take unlimited time to compile it. */
const MAX_ITEM_PARTS = 20_000
const MAX_NAME_LENGTH = 256
/** Templates are matched against the URIs of clients: the cost is the product of the two lengths. */
const MAX_URI_LENGTH = 4_096
/** The left-out entries are stored, logged and shown; a server that lists only invalid entries must not fill them. */
const MAX_LEFT_OUT = 100
/** A day, in milliseconds: a server that says more means forever, which is too long. */
const MAX_FRESH_MS = 86_400_000

interface ListPlan {
  readonly method: string
  readonly key: 'tools' | 'resources' | 'resourceTemplates' | 'prompts'
  readonly capability: string
  readonly nameKey: string
}

const LISTS: readonly ListPlan[] = [
  { method: 'tools/list', key: 'tools', capability: 'tools', nameKey: 'name' },
  { method: 'resources/list', key: 'resources', capability: 'resources', nameKey: 'uri' },
  { method: 'resources/templates/list', key: 'resourceTemplates', capability: 'resources', nameKey: 'uriTemplate' },
  { method: 'prompts/list', key: 'prompts', capability: 'prompts', nameKey: 'name' },
]

/** Without the lists, which a connection need not keep: there may be many connections to one server. */
export function pickHandshake(catalog: ServerCatalog): HandshakeResult {
  const { era, protocolVersion, capabilities, serverInfo, instructions } = catalog
  return { era, protocolVersion, capabilities, serverInfo, instructions }
}

/** Reads every list to its end, within our own limits, and leaves out what cannot be offered. */
export async function fetchCatalog(link: Link, handshake: HandshakeResult, source: ListSource): Promise<ServerCatalog> {
  const leftOut: OmittedItem[] = []
  const freshUntil: Record<string, number> = {}
  // The protocol forbids HTTP clients of the modern era to offer such tools, and does not restrict other clients.
  const checksParams = source.kind === 'http' && handshake.era === 'modern'
  const lists: Record<string, readonly JsonObject[]> = {}
  for (const plan of LISTS) {
    lists[plan.key] =
      handshake.capabilities[plan.capability] === undefined
        ? []
        : await fetchList(link, plan, { timeout: source.timeout, leftOut, freshUntil, checksParams })
  }
  const freshness = handshake.era === 'modern' ? { freshUntil } : {}
  return { ...handshake, ...(lists as unknown as Pick<ServerCatalog, ListPlan['key']>), leftOut, ...freshness }
}

/** The source of the lists, and the timeout of each page. */
export interface ListSource {
  readonly kind: UpstreamConfig['kind']
  readonly timeout: number
}

interface FetchContext {
  readonly timeout: number
  readonly leftOut: OmittedItem[]
  readonly freshUntil: Record<string, number>
  readonly checksParams: boolean
}

async function fetchList(link: Link, plan: ListPlan, gathering: FetchContext): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = []
  const cursors = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const frame = await link.request({
      method: plan.method,
      params,
      timeout: gathering.timeout,
      maximum: gathering.timeout,
    })
    // Some servers declare resources or prompts and cannot list them; their tools are still usable.
    if (frame.envelope.error !== undefined && plan.key !== 'tools')
      return handleRefusedList(plan, items, gathering.leftOut)
    // Clients in several languages tell 1.0 from 1.
    const result = parseResult(frame, plan.method, parseExactFrame)
    collect(result[plan.key], { items, plan, ...gathering })
    // A list is as fresh as the page that expires first.
    gathering.freshUntil[plan.key] = Math.min(
      gathering.freshUntil[plan.key] ?? Number.POSITIVE_INFINITY,
      Date.now() + freshMs(result.ttlMs),
    )
    cursor = typeof result.nextCursor === 'string' ? result.nextCursor : undefined
    if (cursor === undefined || cursors.has(cursor) || items.length >= MAX_ITEMS) return items
    cursors.add(cursor)
  }
  addLeftOut(gathering.leftOut, { name: plan.method, reason: `more than ${MAX_PAGES} pages` })
  return items
}

/** Resources without templates are common, and not worth a message. */
function handleRefusedList(
  plan: ListPlan,
  items: readonly JsonObject[],
  leftOut: OmittedItem[],
): readonly JsonObject[] {
  if (plan.key !== 'resourceTemplates')
    addLeftOut(leftOut, { name: plan.method, reason: 'the server refused to list them' })
  return items
}

function addLeftOut(leftOut: OmittedItem[], entry: OmittedItem): void {
  if (leftOut.length < MAX_LEFT_OUT) leftOut.push(entry)
  else if (leftOut.length === MAX_LEFT_OUT)
    leftOut.push({ name: 'further entries', reason: 'there are too many to list' })
}

interface CollectOptions extends Pick<FetchContext, 'leftOut' | 'checksParams'> {
  readonly items: JsonObject[]
  readonly plan: ListPlan
}

function collect(page: Json | undefined, into: CollectOptions): void {
  const { items, plan, leftOut, checksParams } = into
  const listedNames = new Set(items.map((item) => item[plan.nameKey]))
  for (const entry of Array.isArray(page) ? page : []) {
    const item = withoutNull(entry)
    const reason = findItemProblem(item, plan, listedNames) ?? (checksParams ? findParamProblem(item) : undefined)
    if (reason === undefined && items.length >= MAX_ITEMS) {
      addLeftOut(leftOut, { name: plan.method, reason: `more than ${MAX_ITEMS} entries` })
      return
    }
    if (reason !== undefined) addLeftOut(leftOut, { name: shownName(item, plan), reason })
    else {
      items.push(item as JsonObject)
      listedNames.add((item as JsonObject)[plan.nameKey])
    }
  }
}

/** Writers in several languages print a missing description as null. */
function withoutNull(item: Json): Json {
  if (!isJsonObject(item) || item.description !== null) return item
  const { description: _, ...rest } = item
  return rest
}

function findItemProblem(
  item: Json,
  { key, nameKey }: ListPlan,
  listedNames: ReadonlySet<Json | undefined>,
): string | undefined {
  if (!isJsonObject(item)) return 'it is not an object'
  const name = item[nameKey]
  if (typeof name !== 'string' || name === '') return `its ${nameKey} is missing`
  const maxLength = nameKey === 'name' ? MAX_NAME_LENGTH : MAX_URI_LENGTH
  if (name.length > maxLength) return `its ${nameKey} is longer than ${maxLength} characters`
  if (listedNames.has(name)) return 'it is listed twice'
  const schemaProblem = key === 'tools' ? findSchemaProblem(item.inputSchema) : undefined
  if (schemaProblem !== undefined) return schemaProblem
  if (item.description !== undefined && typeof item.description !== 'string') return 'its description is not a string'
  if (isDeeperThan(item, MAX_ITEM_DEPTH)) return `its definition is nested deeper than ${MAX_ITEM_DEPTH}`
  if (printExactJson(item).length > MAX_ITEM_BYTES) return `its definition is larger than ${MAX_ITEM_BYTES} characters`
  if (hasMoreValues(item, MAX_ITEM_PARTS)) return `its definition has more than ${MAX_ITEM_PARTS} parts`
  return undefined
}

/**
 * A schema without a type or properties does not describe the arguments, which is allowed; they are still an object.
 */
function findSchemaProblem(schema: Json | undefined): string | undefined {
  if (schema === undefined || schema === null) return 'its inputSchema is missing'
  if (!isJsonObject(schema)) return 'its inputSchema is not an object'
  const types = schema.type === undefined ? ['object'] : [schema.type].flat()
  if (types.includes('object')) return undefined
  return `its inputSchema is of type ${JSON.stringify(schema.type).slice(0, 50)}, and arguments are an object`
}

function findParamProblem(item: Json): string | undefined {
  const inputSchema = isJsonObject(item) ? item.inputSchema : undefined
  const read = isJsonObject(inputSchema) ? readMcpParams(inputSchema) : undefined
  return read && 'problem' in read ? read.problem : undefined
}

function freshMs(ttlMs: Json | undefined): number {
  return typeof ttlMs === 'number' && ttlMs > 0 ? Math.min(ttlMs, MAX_FRESH_MS) : 0
}

function shownName(item: Json, plan: ListPlan): string {
  const name = isJsonObject(item) ? item[plan.nameKey] : undefined
  return typeof name === 'string' ? name.slice(0, 80) : `an entry of ${plan.method}`
}
