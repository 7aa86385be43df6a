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
  if (block.type === 'image' || block.type === 'audio') return media(block.type, block.data, block.mimeType)
  const { resource } = block
  if (block.type !== 'resource' || !isRecord(resource)) return undefined
  return media('resource', resource.blob, resource.mimeType)
}

function media(noun: string, data: unknown, mimeType: unknown): MediaBlock | undefined {
  if (typeof data !== 'string') return undefined
  return {
    noun,
    mimeType: typeof mimeType === 'string' ? mimeType.slice(0, LONGEST_TYPE) : 'application/octet-stream',
    size: Math.floor((data.length * 3) / 4),
    bytes: () => Buffer.from(data, 'base64'),
  }
}

const LONGEST_TYPE = 100

/** Whether a block alone is more than a model should be given. What is of no known type counts as it is written. */
export function isLargeBlock(block: Content, { threshold, mediaBytes }: Preset): boolean {
  const text = blockText(block)
  if (text !== undefined) return text.length > threshold
  const found = readMedia(block)
  return found === undefined ? JSON.stringify(block).length > threshold : found.size > mediaBytes
}

/** `An image (image/png, 2.1 MB)` */
export function describeMedia({ noun, mimeType, size }: MediaBlock): string {
  const article = noun === 'resource' ? 'A resource' : noun === 'audio' ? 'Audio' : `An ${noun}`
  return `${article} (${mimeType.replaceAll(/\s+/g, ' ')}, ${megabytes(size)})`
}

const megabytes = (bytes: number): string =>
  bytes < 100_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => isJsonObject(value)
