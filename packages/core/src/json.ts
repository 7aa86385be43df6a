/** Any value that JSON can carry. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isJsonList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/** The value that a text holds; undefined where it holds none. */
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Whether it is nested deeper than so many levels. It is looked into no further than that. */
export function isDeeper(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const key in value) if (isDeeper((value as Readonly<Record<string, Json>>)[key], levels - 1)) return true
  return false
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/** The same of JSON text, before it is parsed: each level of a value takes far more memory than its two brackets. */
export function isTextDeeper(text: string, levels: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = stringEnd(text, at)
    else if (OPENING.has(code) && ++depth > levels) return true
    else if (CLOSING.has(code)) depth--
  }
  return false
}

function stringEnd(text: string, start: number): number {
  let at = start + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at++
  }
  return at
}

/** Whether it is made of more than so many values, itself among them. It is looked into no further than that. */
export function hasMoreParts(value: Json | undefined, parts: number): boolean {
  return partsLeft(value, parts) < 0
}

function partsLeft(value: Json | undefined, parts: number): number {
  let left = parts - 1
  if (typeof value !== 'object' || value === null) return left
  for (const key in value) {
    if (left < 0) return left
    left = partsLeft((value as Readonly<Record<string, Json>>)[key], left)
  }
  return left
}
