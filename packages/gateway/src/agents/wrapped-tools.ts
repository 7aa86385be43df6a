import { isJsonList, type Json } from '@sallyport/core'
import { writingsOf } from './server-writings.ts'
import { createPatterns, intersectPatterns, type ToolPatterns } from './tool-patterns.ts'

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
export function selectWrapped(request: WrapRequest, id: string): readonly string[] | undefined {
  const { name, names, selections, config } = request
  const writings = writingsOf([...new Set(names)])
  const patterns = selections.map((selection) => createPatterns(selection, writings)(name))
  const left = intersectPatterns([ownPatterns(config), ...patterns])
  if (left === undefined || left.adds.length === 0) return left && []
  // As they were written too: by that a person may mean the gateway's own names.
  const taking = selections.flatMap((selection = []) => selection.filter((selector) => selector.startsWith('!')))
  return [
    ...left.adds.map((pattern) => `${id}/${pattern}`),
    ...new Set([...left.takes.map((pattern) => `!${id}/${pattern}`), ...taking]),
  ]
}

function ownPatterns({ include_tools, exclude_tools }: WrapRequest['config']): ToolPatterns {
  return { adds: include_tools === undefined ? ['*'] : textsIn(include_tools), takes: textsIn(exclude_tools) }
}

const textsIn = (value: Json | undefined): readonly string[] =>
  isJsonList(value) ? value.filter((item) => typeof item === 'string') : []
