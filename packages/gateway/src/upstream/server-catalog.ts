import {
  hasMoreValues,
  isDeeperThan,
  isJsonObject,
  type Json,
  type JsonObject,
  readMcpParams,
  type ToolDefinition,
} from '@sallyport/core'
import type { QuestionScope } from './client.ts'
import { type HandshakeResult, parseResult } from './link/handshake.ts'
import type { Link } from './link/link.ts'
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
  /** What it listed and we do not offer, and why. */
  readonly leftOut: readonly OmittedItem[]
  /** It is a legacy server that asks things of its clients: they do not share one connection to it. */
  readonly asks?: QuestionScope | undefined
  /** Until when each list may be taken as it is, by the clock on the wall; a server that says nothing is not named. */
  readonly freshUntil?: FreshUntil
}

export type FreshUntil = { readonly [key in ListPlan['key']]?: number }

const MAX_PAGES = 200
const MAX_ITEMS = 20_000
const MAX_ITEM_BYTES = 256_000
const MAX_ITEM_DEPTH = 64
/** A schema of more is read by no model, and compiled by clients for as long as it takes. */
const MAX_ITEM_PARTS = 20_000
const MAX_NAME_LENGTH = 256
/** Templates are matched against what clients ask for: theirs is a product of lengths. */
const MAX_URI_LENGTH = 4_096
/** What is left out is kept, logged and shown; a server that lists nothing but rubbish must not fill that. */
const MAX_LEFT_OUT = 100
/** A day, in milliseconds: who says more means for ever, and for ever is a long time. */
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

/** Walks every list to its end, with caps of our own, and leaves out what cannot be offered. */
export async function fetchCatalog(link: Link, opening: HandshakeResult, source: ListSource): Promise<ServerCatalog> {
  const leftOut: OmittedItem[] = []
  const freshUntil: Record<string, number> = {}
  // The protocol forbids HTTP clients of the modern era to offer such tools, and leaves the others free.
  const judgesParams = source.kind === 'http' && opening.era === 'modern'
  const lists: Record<string, readonly JsonObject[]> = {}
  for (const plan of LISTS) {
    lists[plan.key] =
      opening.capabilities[plan.capability] === undefined
        ? []
        : await fetchList(link, plan, { timeout: source.timeout, leftOut, freshUntil, judgesParams })
  }
  const kept = opening.era === 'modern' ? { freshUntil } : {}
  return { ...opening, ...(lists as unknown as Pick<ServerCatalog, ListPlan['key']>), leftOut, ...kept }
}

/** Where the lists come from, and how long each page of them may take. */
export interface ListSource {
  readonly kind: UpstreamConfig['kind']
  readonly timeout: number
}

interface FetchContext {
  readonly timeout: number
  readonly leftOut: OmittedItem[]
  readonly freshUntil: Record<string, number>
  readonly judgesParams: boolean
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
    // Some servers declare resources or prompts and cannot list them; their tools are as good as any.
    if (frame.envelope.error !== undefined && plan.key !== 'tools')
      return handleRefusedList(plan, items, gathering.leftOut)
    const result = parseResult(frame, plan.method)
    collect(result[plan.key], { items, plan, ...gathering })
    // A list is as fresh as the page that ages first.
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

/** To know resources and no templates is common and nothing to be told. */
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
    leftOut.push({ name: 'further entries', reason: 'there are too many to tell' })
}

interface CollectOptions extends Pick<FetchContext, 'leftOut' | 'judgesParams'> {
  readonly items: JsonObject[]
  readonly plan: ListPlan
}

function collect(page: Json | undefined, into: CollectOptions): void {
  const { items, plan, leftOut, judgesParams } = into
  const known = new Set(items.map((item) => item[plan.nameKey]))
  for (const entry of Array.isArray(page) ? page : []) {
    const item = withoutNull(entry)
    const reason = findItemProblem(item, plan, known) ?? (judgesParams ? findParamProblem(item) : undefined)
    if (reason === undefined && items.length >= MAX_ITEMS) {
      addLeftOut(leftOut, { name: plan.method, reason: `more than ${MAX_ITEMS} entries` })
      return
    }
    if (reason !== undefined) addLeftOut(leftOut, { name: shownName(item, plan), reason })
    else {
      items.push(item as JsonObject)
      known.add((item as JsonObject)[plan.nameKey])
    }
  }
}

/** Writers of several languages print a description that is missing as null. */
function withoutNull(item: Json): Json {
  if (!isJsonObject(item) || item.description !== null) return item
  const { description: _, ...rest } = item
  return rest
}

function findItemProblem(
  item: Json,
  { key, nameKey }: ListPlan,
  known: ReadonlySet<Json | undefined>,
): string | undefined {
  if (!isJsonObject(item)) return 'it is not an object'
  const name = item[nameKey]
  if (typeof name !== 'string' || name === '') return `its ${nameKey} is missing`
  const longest = nameKey === 'name' ? MAX_NAME_LENGTH : MAX_URI_LENGTH
  if (name.length > longest) return `its ${nameKey} is longer than ${longest} characters`
  if (known.has(name)) return 'it is listed twice'
  const schemaFlaw = key === 'tools' ? findSchemaProblem(item.inputSchema) : undefined
  if (schemaFlaw !== undefined) return schemaFlaw
  if (item.description !== undefined && typeof item.description !== 'string') return 'its description is not a text'
  if (isDeeperThan(item, MAX_ITEM_DEPTH)) return `its definition is nested deeper than ${MAX_ITEM_DEPTH}`
  if (JSON.stringify(item).length > MAX_ITEM_BYTES) return `its definition is larger than ${MAX_ITEM_BYTES} characters`
  if (hasMoreValues(item, MAX_ITEM_PARTS)) return `its definition has more than ${MAX_ITEM_PARTS} parts`
  return undefined
}

/** One without a type or properties says nothing of its arguments, which is allowed; they are an object all the same. */
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
