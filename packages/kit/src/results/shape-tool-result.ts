import {
  type ContentHints,
  detectKind,
  formatCount,
  isJsonObject,
  type JsonObject,
  type Preset,
  READ_RESULT_TOOL,
  shapeText,
} from '@sallyport/core'
import { type Content, type ToolResult, textContent } from '../tool-result.ts'
import type { AboutResult, ResultStore, SavedResult } from './result-store.ts'

/** The key in `_meta` of a result that was saved and is shown only in part. */
export const SHAPED_META = 'sallyport/shaped'

/** How results are shaped, and where the full result is stored. */
export interface ResultShaping {
  readonly preset: Preset
  /** Called only if something must be saved. If it returns `undefined`, nothing is saved, and the preview says so. */
  readonly openStore: () => ResultStore | undefined
  readonly tool?: string
  /** A sentence that says how to read the full result. Default: with the tool of `offerResults`. */
  readonly describeFullResult?: (saved: SavedResult) => string
  /** The structured content as its server wrote it, if a JavaScript value cannot represent it. It is left out of the shaped result. */
  readonly writtenStructure?: string | Uint8Array
}

/** The minimum share of each block. If there are too many blocks for that, some are left out. */
const MIN_BLOCK_CHARACTERS = 400
const MIN_PREVIEW_TOKENS = 150
/** Even empty blocks have a cost for the caller. */
const MAX_BLOCKS = 100
/** Clients look for this at the very beginning of an error (KIT-12). */
const FATAL_PREFIX = '[FATAL] '
const MAX_RESULT_TYPE_LENGTH = 100

/**
 * Shapes a result so that it fits a model: long texts are shortened by their kind, large images and other bytes are
 * described, and the full content is saved first. A result that is small enough is returned unchanged (the same object).
 */
export async function shapeToolResult(result: ToolResult, shaping: ResultShaping): Promise<ToolResult> {
  const { content, structuredContent, ...rest } = result
  const { preset, writtenStructure } = shaping
  const structure =
    structuredContent === undefined ? undefined : (writtenStructure ?? JSON.stringify(structuredContent))
  const isStructureLarge = (structure?.length ?? 0) > preset.threshold
  const isRestLarge = JSON.stringify(rest).length > preset.threshold
  const texts = content.reduce((sum, block) => sum + blockWeight(block), 0)
  const isFew = content.length <= MAX_BLOCKS && texts <= preset.threshold && mediaSize(content) <= preset.mediaBytes
  if (isFew && !isStructureLarge && !isRestLarge) return result
  const work = new ResultShaper(shaping)
  const blocks = await work.shapeBlocks(content, texts)
  const isDropped = structure !== undefined && (isStructureLarge || writtenStructure !== undefined)
  const dropped = isDropped ? await work.omitStructure(structure, content) : undefined
  const left = isRestLarge ? await work.omitRest(rest) : undefined
  const { _meta, ...fields } = left === undefined ? rest : left.fields
  return {
    ...fields,
    content: [...blocks, ...work.links.slice(0, preset.fills ? MAX_LINKS : undefined)],
    ...(structuredContent === undefined || isDropped ? {} : { structuredContent }),
    _meta: { ..._meta, [SHAPED_META]: { results: work.facts, ...dropped, ...left?.facts } },
  }
}

const mediaSize = (content: readonly Content[]): number =>
  content.reduce((sum, block) => sum + (readMedia(block)?.size ?? 0), 0)

/** All members of a result except its content. */
type RestOfResult = Omit<ToolResult, 'content' | 'structuredContent'>

/** Shapes one result, and records where its parts are saved. */
class ResultShaper {
  readonly links: Content[] = []
  readonly facts: JsonObject[] = []
  readonly #shaping: ResultShaping
  /** The number of bytes of images and other media that are already shown. */
  #mediaBytes = 0

  constructor(shaping: ResultShaping) {
    this.#shaping = shaping
  }

  async shapeBlocks(content: readonly Content[], texts: number): Promise<readonly Content[]> {
    const { preset } = this.#shaping
    const weights = content.map(blockWeight)
    const { shown, level } = texts > preset.threshold ? shareBudget(weights, preset) : shareFreely(content, preset)
    const blocks: Content[] = []
    for (const block of content.slice(0, shown)) blocks.push(await this.#shapeBlock(block, splitPreset(preset, level)))
    if (shown < content.length) blocks.push(await this.#omitBlocks(content, content.length - shown))
    return blocks
  }

  /** Structured content is returned in full or not at all (ISO-17). */
  async omitStructure(structure: string | Uint8Array, content: readonly Content[]): Promise<JsonObject> {
    const isShown = content.some((block) => isSameText(blockText(block), structure))
    const where = isShown ? '' : ` ${this.#describeRest(await this.#save(structure, { kind: 'json' }))}`
    const { threshold } = this.#shaping.preset
    const isLarge = structure.length > threshold
    const why = isLarge
      ? `it has ${formatCount(structure.length, typeof structure === 'string' ? 'character' : 'byte')}, and ${threshold} are shown`
      : 'it contains numbers with more digits than JavaScript can represent'
    return { structuredContent: `Left out: ${why}.${where}` }
  }

  /** Models should not see these members, but some clients put the whole result into the context. */
  async omitRest(rest: RestOfResult): Promise<{ readonly fields: RestOfResult; readonly facts: JsonObject }> {
    const written = JSON.stringify(rest)
    const saved = await this.#save(written, { kind: 'json' })
    const { isError, resultType } = rest as RestOfResult & { readonly resultType?: unknown }
    const fields = {
      ...(typeof isError === 'boolean' && { isError }),
      ...(typeof resultType === 'string' && resultType.length < MAX_RESULT_TYPE_LENGTH && { resultType }),
    }
    const note = `Left out: ${formatCount(written.length, 'character')}. ${this.#describeRest(saved)}`
    return { fields, facts: { fields: note } }
  }

  async #shapeBlock(block: Content, preset: Preset): Promise<Content> {
    const media = readMedia(block)
    const isOver = this.#mediaBytes + (media?.size ?? 0) > preset.mediaBytes
    if (!isLargeBlock(block, preset) && !(media && isOver)) {
      this.#mediaBytes += media?.size ?? 0
      return block
    }
    if (extraWeight(block) > 0) return this.#omitBlock(block)
    const text = blockText(block)
    if (text !== undefined) return this.#shapeText(block, text, preset)
    return media === undefined ? this.#omitBlock(block) : this.#omitMedia(media)
  }

  async #shapeText(block: Content, text: string, preset: Preset): Promise<Content> {
    const kind = detectKind(text, readHints(block))
    const saved = await this.#save(text, { kind })
    const lead = text.startsWith(FATAL_PREFIX) ? FATAL_PREFIX : ''
    const room = { ...preset, threshold: preset.threshold - lead.length }
    const { text: shown, omission } = shapeText(text, room, { kind, rest: this.#describeRest(saved) })
    this.#record(saved, { kind, characters: text.length, ...(omission && { omitted: { ...omission } }) })
    return withText(block, `${lead}${shown}`)
  }

  async #omitBlock(block: Content): Promise<Content> {
    const written = JSON.stringify(block)
    const saved = await this.#save(written, { kind: 'json' })
    this.#record(saved, { kind: 'json', characters: written.length })
    return textContent(
      `[A block of ${formatCount(written.length, 'character')} left out. ${this.#describeRest(saved)}]`,
    )
  }

  async #omitMedia(media: MediaBlock): Promise<Content> {
    const saved = await this.#save(media.bytes(), { mimeType: media.mimeType })
    this.#record(saved, { kind: 'binary', bytes: media.size })
    return textContent(`[${describeMedia(media)} left out. ${this.#describeRest(saved)}]`)
  }

  async #omitBlocks(content: readonly Content[], count: number): Promise<Content> {
    const saved = await this.#save(JSON.stringify(content), { kind: 'json' })
    this.#record(saved, { kind: 'json', blocks: content.length, omitted: { noun: 'block', count, of: content.length } })
    return textContent(`[… ${formatCount(count, 'block')} omitted … ${this.#describeRest(saved)}]`)
  }

  /** A result that cannot be saved is still returned as far as it fits: losing all of it would be worse. */
  async #save(content: string | Uint8Array, about: AboutResult): Promise<SavedResult | NotSaved> {
    const { openStore, tool } = this.#shaping
    try {
      const store = openStore()
      if (store === undefined) return { reason: 'The rest was not saved: there is no session to save it for.' }
      const saved = await store.save(content, { ...about, ...(tool === undefined ? {} : { tool }) })
      this.links.push(createLink(saved))
      return saved
    } catch {
      return { reason: 'The rest could not be saved and is lost: ask for less at once.' }
    }
  }

  #describeRest(saved: SavedResult | NotSaved): string {
    return 'handle' in saved ? (this.#shaping.describeFullResult ?? describeReadTool)(saved) : saved.reason
  }

  #record(saved: SavedResult | NotSaved, facts: JsonObject): void {
    const where = 'handle' in saved ? { handle: saved.handle, path: saved.path } : { lost: saved.reason }
    this.facts.push({ ...where, ...facts })
  }
}

/** Compares the lengths first: they nearly always differ. */
function isSameText(text: string | undefined, written: string | Uint8Array): boolean {
  if (text === undefined || typeof written === 'string') return text === written
  return Buffer.byteLength(text) === written.length && Buffer.from(text).equals(written)
}

interface NotSaved {
  readonly reason: string
}

/** In a budget that is filled, links count, too. The text of each block that is cut names its handle. */
const MAX_LINKS = 3
/** About the length of a link to a stored result. */
const LINK_CHARACTERS = 180

/** How many blocks are shown, from the first on, and the maximum length of each. */
interface BlockShares {
  readonly shown: number
  readonly level: number
}

/** If the texts fit, only very many blocks are too much. */
function shareFreely({ length }: readonly Content[], preset: Preset): BlockShares {
  const shown = length > MAX_BLOCKS ? Math.max(1, maxBlocksOf(preset) - 1) : length
  return { shown, level: preset.threshold }
}

/**
 * Shares the threshold: short blocks stay whole, and the long ones have equal parts of the rest. As many blocks are shown
 * as leave each long one enough to be useful.
 */
function shareBudget(weights: readonly number[], preset: Preset): BlockShares {
  const max = Math.min(weights.length, maxBlocksOf(preset))
  for (let shown = max; shown > 1; shown--) {
    const level = levelFor(weights, { shown, preset })
    const isCut = weights.slice(0, shown).some((weight) => weight > level)
    if (!isCut || level >= MIN_BLOCK_CHARACTERS) return { shown, level }
  }
  return { shown: 1, level: levelFor(weights, { shown: 1, preset }) }
}

/** A preset that fills its threshold has no other limit for the number of blocks. */
function maxBlocksOf({ fills, items, threshold }: Preset): number {
  if (fills) return MAX_BLOCKS
  return Math.max(1, Math.min(items.head + items.tail, Math.floor(threshold / MIN_BLOCK_CHARACTERS)))
}

/** The length to which the first blocks have to be cut, so that they fit together with the note about the others. */
function levelFor(
  weights: readonly number[],
  { shown, preset: { threshold, fills } }: { readonly shown: number; readonly preset: Preset },
): number {
  const sorted = weights.slice(0, shown).sort((one, other) => one - other)
  const links = fills ? Math.min(weights.length, MAX_LINKS) * LINK_CHARACTERS : 0
  const note = shown < weights.length ? MIN_BLOCK_CHARACTERS : 0
  let left = threshold - Math.min(links + note, threshold / 2)
  for (const [index, weight] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index))
    if (weight > share) return share
    left -= weight
  }
  return threshold
}

const splitPreset = (preset: Preset, level: number): Preset => ({
  ...preset,
  threshold: Math.min(preset.threshold, level),
  previewTokens: Math.max(MIN_PREVIEW_TOKENS, Math.floor((preset.previewTokens * level) / preset.threshold)),
})

/** Behind a gateway the tool has another name, and a gateway may have a reader of its own. */
const describeReadTool = ({ handle }: SavedResult): string =>
  `Full result: this server's ${READ_RESULT_TOOL} with handle ${handle}.`

export const RESULT_URI_PREFIX = 'sallyport://results/'

const createLink = ({ handle, path, mimeType, size }: SavedResult): Content => ({
  type: 'resource_link',
  uri: `${RESULT_URI_PREFIX}${handle}`,
  name: path.slice(path.lastIndexOf('/') + 1),
  mimeType,
  size,
})

/** The declared type of a block's resource. */
function readHints(block: Content): ContentHints {
  const { resource } = block as { readonly resource?: { readonly mimeType?: unknown } }
  return typeof resource?.mimeType === 'string' ? { mimeType: resource.mimeType } : {}
}

/** The text that a block shows to a model: its own, or that of its resource. */
function blockText(block: Content): string | undefined {
  if (block.type === 'text' && typeof block.text === 'string') return block.text
  const { resource } = block
  if (block.type !== 'resource' || !isRecord(resource)) return undefined
  return typeof resource.text === 'string' ? resource.text : undefined
}

/** Returns the same block with another text. */
function withText(block: Content, text: string): Content {
  if (block.type === 'text') return { ...block, text }
  return { ...block, resource: { ...(block.resource as object), text } }
}

/** The bytes in a block: an image, audio, or a binary resource. */
interface MediaBlock {
  readonly noun: string
  readonly mimeType: string
  /** In bytes, estimated from the length of the base64. */
  readonly size: number
  bytes(): Uint8Array
}

function readMedia(block: Content): MediaBlock | undefined {
  if (block.type === 'image' || block.type === 'audio') return createMedia(block.type, block.data, block.mimeType)
  const { resource } = block
  if (block.type !== 'resource' || !isRecord(resource)) return undefined
  return createMedia('resource', resource.blob, resource.mimeType)
}

function createMedia(noun: string, data: unknown, mimeType: unknown): MediaBlock | undefined {
  if (typeof data !== 'string') return undefined
  return {
    noun,
    mimeType: typeof mimeType === 'string' ? mimeType.slice(0, MAX_TYPE_LENGTH) : 'application/octet-stream',
    size: Math.floor((data.length * 3) / 4),
    bytes: () => Buffer.from(data, 'base64'),
  }
}

const MAX_TYPE_LENGTH = 100

/** This many characters beside the text or the bytes are usual, and not counted. */
const USUAL_OVERHEAD = 200

/**
 * How many characters of a block a model reads: its text, and unusually large other members. A block of an unknown type
 * counts with its full JSON.
 */
function blockWeight(block: Content): number {
  const text = blockText(block)
  if (text === undefined && readMedia(block) === undefined) return JSON.stringify(block).length
  return (text?.length ?? 0) + extraWeight(block)
}

/** The size of the members beside the text or the bytes of a block, beyond what is usual. */
function extraWeight(block: Content): number {
  const { text: _text, data: _data, resource, ...rest } = block
  const { text: _inner, blob: _blob, ...about } = isRecord(resource) ? resource : {}
  return Math.max(0, JSON.stringify(rest).length + JSON.stringify(about).length - USUAL_OVERHEAD)
}

/** Whether a block alone is too large for a model. */
function isLargeBlock(block: Content, { threshold, mediaBytes }: Preset): boolean {
  return blockWeight(block) > threshold || (readMedia(block)?.size ?? 0) > mediaBytes
}

/** `An image (image/png, 2.1 MB)` */
function describeMedia({ noun, mimeType, size }: MediaBlock): string {
  const article = noun === 'resource' ? 'A resource' : noun === 'audio' ? 'Audio' : `An ${noun}`
  return `${article} (${mimeType.replaceAll(/\s+/g, ' ')}, ${formatSize(size)})`
}

const formatSize = (bytes: number): string =>
  bytes < 100_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => isJsonObject(value)
