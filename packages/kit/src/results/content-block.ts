import { isJsonObject, type Preset } from '@sallyport/core'
import type { Content } from '../tool-result.ts'

/** The text that a block shows to a model: its own, or that of the resource in it. */
export function blockText(block: Content): string | undefined {
  if (block.type === 'text' && typeof block.text === 'string') return block.text
  const { resource } = block
  if (block.type !== 'resource' || !isRecord(resource)) return undefined
  return typeof resource.text === 'string' ? resource.text : undefined
}

/** The same block with another text. */
export function withText(block: Content, text: string): Content {
  if (block.type === 'text') return { ...block, text }
  return { ...block, resource: { ...(block.resource as object), text } }
}

/** Bytes in a block: an image, audio, or a resource that is no text. */
export interface MediaBlock {
  readonly noun: string
  readonly mimeType: string
  /** In bytes, as near as base64 tells without being read. */
  readonly size: number
  bytes(): Uint8Array
}

export function readMedia(block: Content): MediaBlock | undefined {
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

/** So much beside its text or its bytes is usual, and not counted. */
const USUAL_OVERHEAD = 200

/**
 * How many characters a block makes a model read: its text, and whatever else is in it beyond what is usual. What is of
 * no known type counts as it is written.
 */
export function blockWeight(block: Content): number {
  const text = blockText(block)
  if (text === undefined && readMedia(block) === undefined) return JSON.stringify(block).length
  return (text?.length ?? 0) + extraWeight(block)
}

/** What stands beside the text or the bytes of a block, beyond what is usual. */
export function extraWeight(block: Content): number {
  const { text: _text, data: _data, resource, ...rest } = block
  const { text: _inner, blob: _blob, ...about } = isRecord(resource) ? resource : {}
  return Math.max(0, JSON.stringify(rest).length + JSON.stringify(about).length - USUAL_OVERHEAD)
}

/** Whether a block alone is more than a model should be given. */
export function isLargeBlock(block: Content, { threshold, mediaBytes }: Preset): boolean {
  return blockWeight(block) > threshold || (readMedia(block)?.size ?? 0) > mediaBytes
}

/** `An image (image/png, 2.1 MB)` */
export function describeMedia({ noun, mimeType, size }: MediaBlock): string {
  const article = noun === 'resource' ? 'A resource' : noun === 'audio' ? 'Audio' : `An ${noun}`
  return `${article} (${mimeType.replaceAll(/\s+/g, ' ')}, ${formatSize(size)})`
}

const formatSize = (bytes: number): string =>
  bytes < 100_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => isJsonObject(value)
