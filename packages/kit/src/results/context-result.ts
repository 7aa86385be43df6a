import { findPreset, PRESETS, type Preset, type Presets } from '@sallyport/core'
import { findScope } from '../identity/identity.ts'
import { brandWholeResult, createToolResult, isWholeResult, type ToolResult, textContent } from '../tool-result.ts'
import { currentWorkspace, type Workspace } from '../workspace/workspace.ts'
import { openResultShelf, type ResultShelf } from './result-shelf.ts'
import { shapeToolResult } from './shape-tool-result.ts'

/** Where a shaped result is saved, and by which presets it is shaped. */
export interface ContextResultOptions {
  /** Absent: that of the calling user and session, where there is one. */
  readonly shelf?: ResultShelf
  /** Part of the names of saved files. */
  readonly name?: string
  /** Where the preset is looked up. */
  readonly presets?: Presets
}

/** What the wrapped function gives: a text stays a text; anything else may become a ToolResult where it is too large. */
export type ContextResult<Value> = Value extends string ? string : Value | ToolResult

/**
 * The same function, whose results a model can take: what is over the preset's threshold is saved whole and shown in
 * part. Whatever is smaller, and every error, passes untouched.
 */
export function contextResult<Args extends readonly unknown[], Value>(
  preset: string | Preset,
  work: (...args: Args) => Value,
  options: ContextResultOptions = {},
): (...args: Args) => Promise<ContextResult<Awaited<Value>>> {
  const chosen = typeof preset === 'string' ? findPreset(preset, options.presets ?? PRESETS) : preset
  return async (...args) => {
    const value: unknown = await work(...args)
    return (await shapeValue(value, chosen, options)) as ContextResult<Awaited<Value>>
  }
}

async function shapeValue(value: unknown, preset: Preset, { shelf, name }: ContextResultOptions): Promise<unknown> {
  const result = toToolResult(value)
  if (result === undefined) return value
  const shaping = { preset, openShelf: () => shelf ?? currentShelf(), ...(name === undefined ? {} : { tool: name }) }
  const shaped = await shapeToolResult(result, shaping)
  if (shaped === result) return value
  return typeof value === 'string' ? shaped.content[0]?.text : brandWholeResult(shaped)
}

/** Nothing for what JSON cannot carry: whoever sends it says what is wrong with it. */
function toToolResult(value: unknown): ToolResult | undefined {
  if (typeof value === 'string') return { content: [textContent(value)] }
  if (value === undefined || isWholeResult(value)) return value
  try {
    return createToolResult(value, 'modern')
  } catch {
    return undefined
  }
}

/** One shelf for each workspace, so that calls at the same time know of each other's files. */
const shelves = new WeakMap<Workspace, ResultShelf>()

/** The saved results of the calling user and session; nothing where nobody calls. */
export function currentShelf(): ResultShelf | undefined {
  if (findScope() === undefined) return undefined
  const workspace = currentWorkspace()
  const shelf = shelves.get(workspace) ?? openResultShelf({ workspace })
  shelves.set(workspace, shelf)
  return shelf
}
