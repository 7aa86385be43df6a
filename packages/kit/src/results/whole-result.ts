import { type JsonObject, PRESETS, type Preset } from '@sallyport/core'
import { findScope, type RequestScope } from '../identity/identity.ts'
import type { ToolResult } from '../tool-result.ts'

/** The key in `_meta` of a result that the gateway is to shape: how. */
const RESULT_META = 'sallyport/result'

/** The presets that `contextResult` was called with, by the scope of the call. */
const wanted = new WeakMap<RequestScope, Preset[]>()

/** Call this when a tool begins. Returns true if the gateway shapes its result. */
export function openWholeResult(): boolean {
  const scope = findScope()
  if (scope?.gateway?.shapes !== true) return false
  wanted.set(scope, [])
  return true
}

/** Call this before a value is shaped. Returns true if the value must stay whole, because the gateway shapes the result. */
export function keepsWhole(preset: Preset): boolean {
  const scope = findScope()
  const presets = scope && wanted.get(scope)
  presets?.push(preset)
  return presets !== undefined
}

/** Names the preset of the tool in its whole result, otherwise the smallest one that the handler asked for. */
export function nameResultPreset(result: ToolResult, preset: Preset | undefined): ToolResult {
  const scope = findScope()
  const asked = (scope && wanted.get(scope)) ?? []
  const [chosen] = preset === undefined ? asked.toSorted((a, b) => a.threshold - b.threshold) : [preset]
  if (chosen === undefined) return result
  return { ...result, _meta: { ...result._meta, [RESULT_META]: { preset: describePreset(chosen) } } }
}

/** The name of a built-in preset, or the settings of any other. */
function describePreset(preset: Preset): string | JsonObject {
  const builtIn = Object.entries(PRESETS).find(([, known]) => known === preset)
  if (builtIn !== undefined) return builtIn[0]
  const { threshold, previewTokens, rows, lines, items, keys, mediaBytes } = preset
  return { threshold, previewTokens, rows: { ...rows }, lines: { ...lines }, items: { ...items }, keys, mediaBytes }
}
