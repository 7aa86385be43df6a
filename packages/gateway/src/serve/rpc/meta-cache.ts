import { randomUUID } from 'node:crypto'
import {
  cachePrinted,
  isDeeperThan,
  isJsonObject,
  type Json,
  type JsonObject,
  MAX_DEPTH,
  tryParseJson,
} from '@sallyport/core'

interface CachedMeta {
  readonly text: string
  readonly meta: JsonObject
}

const META_MEMBER = '"_meta":'
const MAX_META_LENGTH = 2_000
/** Enough for the kinds of clients that call at the same time; another one replaces the oldest. */
const MAX_CACHED = 8

/** Replaces a cached `_meta` while the rest is parsed. No message can contain it, because nobody else knows it. */
const PLACEHOLDER = randomUUID()
const PLACEHOLDER_JSON = `"${PLACEHOLDER}"`

/**
 * Modern clients send the same `_meta` with every request, and it is often longer than the rest of the message.
 * A repeated `_meta` is neither parsed nor printed again.
 */
export class MetaCache {
  readonly #cached: CachedMeta[] = []
  /** The last `_meta` that was not cached: only one that comes twice in a row is cached. */
  #lastSeen = ''

  /**
   * Parses a message whose `_meta` is cached, if printing the message would give exactly the same text. `undefined` if
   * the whole message has to be parsed. The text around the `_meta` is compared with its printed form here; the `_meta`
   * itself was compared when it was cached.
   */
  read(text: string): JsonObject | undefined {
    const member = this.#cached.length === 0 ? -1 : text.indexOf(META_MEMBER)
    if (member < 0) return undefined
    const at = member + META_MEMBER.length
    for (const { text: printed, meta } of this.#cached) {
      if (!text.startsWith(printed, at)) continue
      return parseWithMeta(text.slice(0, at) + PLACEHOLDER_JSON + text.slice(at + printed.length), meta)
    }
    return undefined
  }

  /** Caches the `_meta` of a message that equals its printed form, if it came twice in a row. */
  remember(message: Json): void {
    const meta = isJsonObject(message) && isJsonObject(message.params) ? message.params._meta : undefined
    // Progress tokens differ each time.
    if (!isJsonObject(meta) || meta.progressToken !== undefined) return
    const text = JSON.stringify(meta)
    // A cached one is not found if an argument has the same name. Cached again, it would displace the others.
    if (text === this.#lastSeen && !this.#cached.some((cached) => cached.text === text)) this.#add({ text, meta })
    this.#lastSeen = text.length > MAX_META_LENGTH ? '' : text
  }

  #add(cached: CachedMeta): void {
    cachePrinted(cached.meta, cached.text)
    if (this.#cached.length === MAX_CACHED) this.#cached.shift()
    this.#cached.push(cached)
  }
}

function parseWithMeta(text: string, meta: JsonObject): JsonObject | undefined {
  const message = tryParseJson(text)
  if (!isJsonObject(message) || JSON.stringify(message) !== text || isDeeperThan(message, MAX_DEPTH)) return undefined
  const { params } = message as { readonly params?: { _meta?: Json } }
  // The placeholder may be in an argument or in a string.
  if (!isJsonObject(params) || params._meta !== PLACEHOLDER) return undefined
  params._meta = meta
  return message
}
