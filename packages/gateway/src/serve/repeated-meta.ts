import { isDeeper, isJsonObject, type Json, type JsonObject, jsonIn, keepPrinted, MAX_DEPTH } from '@sallyport/core'

/** What a message ends with that says `_meta` last, as its own serialisation would. */
interface Ending {
  readonly text: string
  readonly meta: JsonObject
}

const MEMBER = ',"_meta":'
const CLOSE = '}}'
const MOST_LENGTH = 2_000
/** As many kinds of client as call at once; one more takes the place of the oldest. */
const MOST_ENDINGS = 8

/**
 * Modern clients say who they are with every request, in the same words and in more of them than the rest of the
 * message has. What comes again is neither parsed nor printed again.
 */
export class RepeatedMeta {
  readonly #known: Ending[] = []
  /** How the last message ended whose ending is not known: only what comes twice in a row is worth keeping. */
  #seen = ''

  /**
   * The message, where it ends with what is known and printing it would give the very same text; undefined where it has
   * to be read as a whole. What stands before the ending is compared with its print as all of a message is; that the
   * ending is its own print was seen when it was kept.
   */
  read(text: string): JsonObject | undefined {
    for (const { text: ending, meta } of this.#known) {
      if (text.endsWith(ending)) return withMeta(text.slice(0, -ending.length) + CLOSE, meta)
    }
    return undefined
  }

  /** Keeps the ending of a message that was read as a whole and is its own print, when it comes again. */
  note(text: string, message: Json): void {
    const at = text.indexOf(MEMBER, text.length - MOST_LENGTH)
    if (at < 0) return
    const ending = text.slice(at)
    if (ending !== this.#seen) {
      this.#seen = ending
      return
    }
    const meta = isJsonObject(message) && isJsonObject(message.params) ? message.params._meta : undefined
    if (isJsonObject(meta)) this.#keep(ending, meta)
  }

  #keep(ending: string, meta: JsonObject): void {
    const printed = JSON.stringify(meta)
    const text = MEMBER + printed + CLOSE
    if (text !== ending) return
    keepPrinted(meta, printed)
    if (this.#known.length === MOST_ENDINGS) this.#known.shift()
    // Not the ending itself: that is a part of the message, and would keep all of it.
    this.#known.push({ text, meta })
  }
}

function withMeta(text: string, meta: JsonObject): JsonObject | undefined {
  const message = jsonIn(text)
  if (!isJsonObject(message) || JSON.stringify(message) !== text || isDeeper(message, MAX_DEPTH)) return undefined
  const { params } = message as { readonly params?: { _meta?: Json } }
  // Only there does the ending go on with what stands before it; and a second `_meta` would be a key that stands twice.
  if (lastKey(message) !== 'params' || !isJsonObject(params)) return undefined
  if (lastKey(params) === undefined || Object.hasOwn(params, '_meta')) return undefined
  params._meta = meta
  return message
}

function lastKey(object: JsonObject): string | undefined {
  let last: string | undefined
  for (const key in object) last = key
  return last
}
