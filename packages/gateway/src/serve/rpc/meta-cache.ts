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
/** As many kinds of client as call at once; one more takes the place of the oldest. */
const MAX_CACHED = 8

/** Stands where a known `_meta` was. No message holds it: nobody is told. */
const PLACEHOLDER = randomUUID()
const PLACEHOLDER_JSON = `"${PLACEHOLDER}"`

/**
 * Modern clients say who they are with every request, in the same words and in more of them than the rest of the
 * message has. What comes again is neither parsed nor printed again.
 */
export class MetaCache {
  readonly #cached: CachedMeta[] = []
  /** The last one that was not known: only what comes twice in a row is worth keeping. */
  #lastSeen = ''

  /**
   * The message, where its `_meta` is known and printing it would give the very same text; undefined where it has to be
   * read as a whole. What stands around the `_meta` is compared with its print, as all of a message is; that the `_meta`
   * is its own print was seen when it was kept.
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

  /** Keeps the `_meta` of a message that was read as a whole and is its own print, when it comes again. */
  remember(message: Json): void {
    const meta = isJsonObject(message) && isJsonObject(message.params) ? message.params._meta : undefined
    // A token is another one each time.
    if (!isJsonObject(meta) || meta.progressToken !== undefined) return
    const text = JSON.stringify(meta)
    // One that is known was not found where an argument has the same name: kept again, it would push out the others.
    if (text === this.#lastSeen && !this.#cached.some((known) => known.text === text)) this.#add({ text, meta })
    this.#lastSeen = text.length > MAX_META_LENGTH ? '' : text
  }

  #add(known: CachedMeta): void {
    cachePrinted(known.meta, known.text)
    if (this.#cached.length === MAX_CACHED) this.#cached.shift()
    this.#cached.push(known)
  }
}

function parseWithMeta(text: string, meta: JsonObject): JsonObject | undefined {
  const message = tryParseJson(text)
  if (!isJsonObject(message) || JSON.stringify(message) !== text || isDeeperThan(message, MAX_DEPTH)) return undefined
  const { params } = message as { readonly params?: { _meta?: Json } }
  // It may have stood in an argument, or in a text.
  if (!isJsonObject(params) || params._meta !== PLACEHOLDER) return undefined
  params._meta = meta
  return message
}
