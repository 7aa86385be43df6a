import { isJsonList, type Json } from '@sallyport/core'
import { findServerAliases } from './server-aliases.ts'
import { compileToolPatterns, intersectPatterns, type ToolPatterns } from './tool-patterns.ts'

/** A server of an agent whose selected tools the gateway should offer. */
export interface WrapRequest {
  readonly name: string
  /** The names of all servers in its file: a word may refer to another one. */
  readonly names: readonly string[]
  readonly selections: readonly (readonly string[] | undefined)[]
  /** Its entry, translated for our config.yaml; it may already restrict the tools. */
  readonly config: Readonly<Record<string, Json>>
}

/** Selectors for the server with this id in the gateway. `undefined` if no list of selectors can express the result. */
export function selectWrappedTools(request: WrapRequest, id: string): readonly string[] | undefined {
  const { name, names, selections, config } = request
  const aliases = findServerAliases([...new Set(names)])
  const patterns = selections.map((selection) => compileToolPatterns(selection, aliases)(name))
  const left = intersectPatterns([readConfigPatterns(config), ...patterns])
  if (left === undefined || left.included.length === 0) return left && []
  // Also in their original form: they may use the gateway's own names.
  const exclusions = selections.flatMap((selection = []) => selection.filter((selector) => selector.startsWith('!')))
  return [
    ...left.included.map((pattern) => `${id}/${pattern}`),
    ...new Set([...left.excluded.map((pattern) => `!${id}/${pattern}`), ...exclusions]),
  ]
}

function readConfigPatterns({ include_tools, exclude_tools }: WrapRequest['config']): ToolPatterns {
  return {
    included: include_tools === undefined ? ['*'] : listStrings(include_tools),
    excluded: listStrings(exclude_tools),
  }
}

const listStrings = (value: Json | undefined): readonly string[] =>
  isJsonList(value) ? value.filter((item) => typeof item === 'string') : []
