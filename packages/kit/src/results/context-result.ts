import { join } from 'node:path'
import { findPreset, PRESETS, type Preset, type Presets } from '@sallyport/core'
import { findScope, type SessionStorage } from '../identity/identity.ts'
import { brandWholeResult, createToolResult, isWholeResult, type ToolResult, textContent } from '../tool-result.ts'
import { currentWorkspace, type Workspace } from '../workspace/workspace.ts'
import { openResultStore, type ResultStore } from './result-store.ts'
import { shapeToolResult } from './shape-tool-result.ts'
import { sweepResults } from './sweep-results.ts'
import { keepsWhole } from './whole-result.ts'

/** Where a shaped result is saved, and which presets are available. */
export interface ContextResultOptions {
  /** Default: the store of the calling user and session, if there is one. */
  readonly store?: ResultStore
  /** Becomes a part of the names of saved files. */
  readonly name?: string
  /** The presets in which the name is looked up. */
  readonly presets?: Presets
}

/** The return type of the wrapped function: a string stays a string; anything else may become a ToolResult if it is too large. */
export type ContextResult<Value> = Value extends string ? string : Value | ToolResult

/**
 * Wraps a function so that its results fit a model: a result over the preset's threshold is saved in full and shown in
 * part. Smaller results and errors are returned unchanged, and so is everything if the gateway shapes the call's result.
 */
export function contextResult<Args extends readonly unknown[], Value>(
  preset: string | Preset,
  work: (...args: Args) => Value,
  options: ContextResultOptions = {},
): (...args: Args) => Promise<ContextResult<Awaited<Value>>> {
  const chosen = typeof preset === 'string' ? findPreset(preset, options.presets ?? PRESETS) : preset
  return async (...args) => {
    const value: unknown = await work(...args)
    if (keepsWhole(chosen)) return value as ContextResult<Awaited<Value>>
    return (await shapeValue(value, chosen, options)) as ContextResult<Awaited<Value>>
  }
}

async function shapeValue(value: unknown, preset: Preset, { store, name }: ContextResultOptions): Promise<unknown> {
  const result = toToolResult(value)
  if (result === undefined) return value
  const shaping = {
    preset,
    openStore: () => store ?? currentResultStore(),
    ...(name === undefined ? {} : { tool: name }),
  }
  const shaped = await shapeToolResult(result, shaping)
  if (shaped === result) return value
  return typeof value === 'string' ? shaped.content[0]?.text : brandWholeResult(shaped)
}

/** `undefined` for a value that JSON cannot represent: the code that sends it reports the error. */
function toToolResult(value: unknown): ToolResult | undefined {
  if (typeof value === 'string') return { content: [textContent(value)] }
  if (value === undefined || isWholeResult(value)) return value
  try {
    return createToolResult(value, 'modern')
  } catch {
    return undefined
  }
}

const swept = new Set<string>()

/** Sessions end without notice, above all those over standard input: nobody else would remove what they stored. */
function sweepOnce({ dataFolder, sessionKeys }: SessionStorage): void {
  if (swept.has(dataFolder)) return
  swept.add(dataFolder)
  void sweepResults({ workspaces: join(dataFolder, 'workspaces'), sessionKeys })
}

/** One store for each workspace, so that concurrent calls know each other's files. */
const stores = new WeakMap<Workspace, ResultStore>()

/** The saved results of the calling user and session; `undefined` outside of a call. */
export function currentResultStore(): ResultStore | undefined {
  const scope = findScope()
  if (scope === undefined) return undefined
  sweepOnce(scope)
  const workspace = currentWorkspace()
  const store = stores.get(workspace) ?? openResultStore({ workspace })
  stores.set(workspace, store)
  return store
}
