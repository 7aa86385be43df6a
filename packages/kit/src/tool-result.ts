import { type Era, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { ToolFailure } from './tool-error.ts'

/** A block of content: text, image, audio, resource, resource_link, or a type of the future. */
export interface Content {
  readonly type: string
  readonly [field: string]: unknown
}

/** A result in the protocol's own shape, for tools that want full control. */
export interface ToolResult {
  readonly content: readonly Content[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: JsonObject
}

export const textContent = (text: string): Content => ({ type: 'text', text })

/** What a handler returned, as a result. 0, "", false, null and [] are values like any other; only `undefined` is none. */
export function createToolResult(returned: unknown, era: Era): ToolResult {
  const result = shapeResult(returned)
  return era === 'legacy' ? withoutLooseStructure(result) : result
}

function shapeResult(returned: unknown): ToolResult {
  if (returned === undefined) return { content: [] }
  if (typeof returned === 'string') return { content: [textContent(returned)] }
  if (isToolResult(returned)) return returned
  const value = toJson(returned)
  return { content: [textContent(JSON.stringify(value))], structuredContent: value }
}

/** Written and read back, because a Date or a class with toJSON is something else on the wire. */
export function toJson(value: unknown): Json {
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError(`A tool returned a ${typeof value}, which JSON cannot carry`)
  return JSON.parse(text)
}

export function createErrorResult(failure: ToolFailure): ToolResult {
  return { content: [textContent(failure.text)], isError: true, _meta: { 'sallyport/error': failure.facts } }
}

/** Before 2026-07-28 structured content had to be an object; a client of that era refuses anything else. */
function withoutLooseStructure(result: ToolResult): ToolResult {
  if (result.structuredContent === undefined || isJsonObject(result.structuredContent)) return result
  const { structuredContent: _, ...rest } = result
  return rest
}

export function isToolResult(value: unknown): value is ToolResult {
  if (typeof value !== 'object' || value === null || !('content' in value)) return false
  return Array.isArray(value.content) && value.content.every((block) => typeof block?.type === 'string')
}
