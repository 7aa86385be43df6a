import { cutText, isJsonObject, type Json, type JsonObject } from '@sallyport/core'

/** What is no result of a tool is shown as the JSON that it is: it must not pass by being wrong. */
export function wellFormed(result: Json | undefined): JsonObject {
  const isOne = isJsonObject(result) && (result.content === undefined || isBlockList(result.content))
  if (isOne) return result.content === undefined ? { ...result, content: [] } : result
  return { content: [{ type: 'text', text: JSON.stringify(result ?? null) }] }
}

const isBlockList = (content: Json): boolean => Array.isArray(content) && content.every(isJsonObject)

/** As it is kept where a model stands between it and its caller: its only text, else all of it as JSON. */
export function wholeText(result: JsonObject): string {
  const content = Array.isArray(result.content) ? result.content : []
  const [only] = content as readonly { readonly text?: unknown }[]
  return content.length === 1 && typeof only?.text === 'string' ? only.text : JSON.stringify(result)
}

/** An error of the protocol with as much of its message as fits, and where the rest is. */
export function cutError({ code = 0, message }: JsonObject, most: number, rest: string): JsonObject {
  const said = typeof message === 'string' ? message : ''
  return { code, message: `${cutText(said, Math.max(0, most - rest.length - 1))}${rest}` }
}
