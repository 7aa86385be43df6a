import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'

/** A result as one text for a model. Other content is described. */
export function resultText(result: JsonObject): string {
  const content = Array.isArray(result.content) ? result.content : []
  const texts = content.map(blockText)
  if (texts.length === 0 && result.structuredContent !== undefined) texts.push(JSON.stringify(result.structuredContent))
  return texts.join('\n')
}

function blockText(block: Json): string {
  if (!isJsonObject(block)) return ''
  if (typeof block.text === 'string') return block.text
  const { resource } = block
  if (isJsonObject(resource) && typeof resource.text === 'string') return resource.text
  const size = typeof block.data === 'string' ? `, ${block.data.length} characters of base64` : ''
  const type = typeof block.mimeType === 'string' ? ` ${block.mimeType}` : ''
  return `[${String(block.type)}${type}${size}]`
}

/** The value of a result: its structured content, or its only text, parsed if it is JSON. */
export function resultValue(result: JsonObject): Json | undefined {
  if (result.structuredContent !== undefined) return result.structuredContent
  const text = onlyText(result)
  return text === undefined ? undefined : (parsed(text) ?? { value: text }).value
}

/** The JSON texts in a result: first its only text, which the server wrote and a model reads; then its structured content. */
export function resultJsons(result: JsonObject): readonly string[] {
  const text = onlyText(result)
  const { structuredContent } = result
  return [
    ...(text !== undefined && parsed(text) !== undefined ? [text] : []),
    ...(structuredContent !== undefined ? [JSON.stringify(structuredContent)] : []),
  ]
}

/** The text of a result that has one text block and nothing else; otherwise `undefined`. */
export function onlyText({ content }: JsonObject): string | undefined {
  const [block, ...others] = Array.isArray(content) ? content : []
  return others.length === 0 && isJsonObject(block) && typeof block.text === 'string' ? block.text : undefined
}

function parsed(text: string): { readonly value: Json } | undefined {
  try {
    return { value: JSON.parse(text) as Json }
  } catch {
    return undefined
  }
}
