import type { Content, ToolResult } from '../tool-result.ts'

/** A part of a result, independent of the provider. */
export type ResultPart =
  | { readonly kind: 'text'; readonly text: string }
  /** Base64, unchanged. */
  | { readonly kind: 'file'; readonly mimeType: string; readonly data: string }

/** The parts of a result that a model should see. Structured content is shown if no text repeats it. */
export function toResultParts({ content, structuredContent }: ToolResult): readonly ResultPart[] {
  const parts = content.map(toPart)
  if (structuredContent !== undefined && !parts.some(({ kind }) => kind === 'text'))
    parts.push(textPart(JSON.stringify(structuredContent)))
  return parts
}

/** For providers or file types for which only text can be sent. */
const describeFile = ({ mimeType, data }: Extract<ResultPart, { kind: 'file' }>): string =>
  `[${mimeType}, ${Math.floor((data.length * 3) / 4)} bytes, not shown]`

export const renderPart = (part: ResultPart): string => (part.kind === 'text' ? part.text : describeFile(part))

const textPart = (text: string): ResultPart => ({ kind: 'text', text })

function toPart(block: Content): ResultPart {
  if (block.type === 'text' && typeof block.text === 'string') return textPart(block.text)
  if (block.type === 'image' || block.type === 'audio')
    return filePart(block.mimeType, block.data) ?? unknownPart(block)
  if (block.type === 'resource_link') return textPart(`[${block.title ?? block.name ?? 'resource'}](${block.uri})`)
  if (block.type === 'resource') return resourcePart(block.resource) ?? unknownPart(block)
  return unknownPart(block)
}

const unknownPart = (block: Content): ResultPart => textPart(JSON.stringify(block))

function filePart(mimeType: unknown, data: unknown): ResultPart | undefined {
  return typeof mimeType === 'string' && typeof data === 'string' ? { kind: 'file', mimeType, data } : undefined
}

function resourcePart(resource: unknown): ResultPart | undefined {
  if (typeof resource !== 'object' || resource === null) return undefined
  if ('text' in resource && typeof resource.text === 'string') return textPart(resource.text)
  if (!('blob' in resource)) return undefined
  return filePart('mimeType' in resource ? resource.mimeType : 'application/octet-stream', resource.blob)
}
