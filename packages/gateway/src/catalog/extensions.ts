import { type Era, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { ServerCatalog } from '../upstream/upstream.ts'

/** Each era creates, queries and ends tasks in its own way, so tasks cannot be translated between eras. */
export const MODERN_TASKS = 'io.modelcontextprotocol/tasks'

/** The capabilities that servers declare beyond the protocol's own, merged into one declaration. */
export function declaredExtensions(catalogs: readonly ServerCatalog[], era: Era): JsonObject {
  const makers = catalogs.filter(
    ({ capabilities, ...speaks }) => speaks.era === era && capabilities.tasks !== undefined,
  )
  const tasks = era === 'legacy' ? makers[0] : undefined
  const extensions = mergeExtensions(catalogs, 'extensions', (name, from) => name !== MODERN_TASKS || from === era)
  const experimental = mergeExtensions(catalogs, 'experimental', () => true)
  return {
    ...(extensions && { extensions }),
    ...(experimental && { experimental }),
    ...(tasks && { tasks: withoutTaskList(tasks.capabilities.tasks) }),
  }
}

/** No client may list tasks: it could see those of others. Tasks are looked up one by one, by those who know the id. */
function withoutTaskList(declared: Json | undefined): JsonObject {
  const { list: _list, ...rest } = isJsonObject(declared) ? declared : {}
  return rest
}

function mergeExtensions(
  catalogs: readonly ServerCatalog[],
  member: 'extensions' | 'experimental',
  keeps: (name: string, era: Era) => boolean,
): JsonObject | undefined {
  const all = new Map<string, Json | undefined>()
  for (const { era, capabilities } of catalogs)
    for (const [name, value] of Object.entries(isJsonObject(capabilities[member]) ? capabilities[member] : {}))
      if (!all.has(name) && keeps(name, era)) all.set(name, value)
  return all.size === 0 ? undefined : Object.fromEntries(all)
}
