import { isJsonList, type Json } from '@sallyport/core'
import { findServerAliases } from './server-aliases.ts'
import { compileToolPatterns, intersectPatterns, type ToolPatterns } from './tool-patterns.ts'

/** A server of an agent's own of which the gateway is to offer what selections leave. */
export interface WrapRequest {
  readonly name: string
  /** Of all servers beside which it stands: a word may mean another. */
  readonly names: readonly string[]
  readonly selections: readonly (readonly string[] | undefined)[]
  /** Its entry as our config.yaml would say it: it may be narrowed already. */
  readonly config: Readonly<Record<string, Json>>
}

/** Selectors for the server with this id in the gateway. Undefined where no list of selectors says what is left. */
export function selectWrappedTools(request: WrapRequest, id: string): readonly string[] | undefined {
  const { name, names, selections, config } = request
  const writings = findServerAliases([...new Set(names)])
  const patterns = selections.map((selection) => compileToolPatterns(selection, writings)(name))
  const left = intersectPatterns([readConfigPatterns(config), ...patterns])
  if (left === undefined || left.included.length === 0) return left && []
  // As they were written too: by that a person may mean the gateway's own names.
  const taking = selections.flatMap((selection = []) => selection.filter((selector) => selector.startsWith('!')))
  return [
    ...left.included.map((pattern) => `${id}/${pattern}`),
    ...new Set([...left.excluded.map((pattern) => `!${id}/${pattern}`), ...taking]),
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
