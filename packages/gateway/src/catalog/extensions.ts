import { type Era, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { ServerCatalog } from '../upstream/upstream.ts'

/** Tasks are made, asked for and ended otherwise in each era: they cannot be carried across. */
export const MODERN_TASKS = 'io.modelcontextprotocol/tasks'

/** The capabilities beyond the protocol's own that servers declare, as one of them. */
export function declaredExtensions(catalogues: readonly ServerCatalog[], era: Era): JsonObject {
  const makers = catalogues.filter(
    ({ capabilities, ...speaks }) => speaks.era === era && capabilities.tasks !== undefined,
  )
  const tasks = era === 'legacy' ? makers[0] : undefined
  const extensions = mergeExtensions(catalogues, 'extensions', (name, from) => name !== MODERN_TASKS || from === era)
  const experimental = mergeExtensions(catalogues, 'experimental', () => true)
  return {
    ...(extensions && { extensions }),
    ...(experimental && { experimental }),
    ...(tasks && { tasks: withoutTaskList(tasks.capabilities.tasks) }),
  }
}

/** Whose tasks there are is nobody's to ask: they are looked up one by one, by those who know their ids. */
function withoutTaskList(declared: Json | undefined): JsonObject {
  const { list: _list, ...rest } = isJsonObject(declared) ? declared : {}
  return rest
}

function mergeExtensions(
  catalogues: readonly ServerCatalog[],
  member: 'extensions' | 'experimental',
  keeps: (name: string, era: Era) => boolean,
): JsonObject | undefined {
  const all = new Map<string, Json | undefined>()
  for (const { era, capabilities } of catalogues)
    for (const [name, value] of Object.entries(isJsonObject(capabilities[member]) ? capabilities[member] : {}))
      if (!all.has(name) && keeps(name, era)) all.set(name, value)
  return all.size === 0 ? undefined : Object.fromEntries(all)
}
