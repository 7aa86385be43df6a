import { hash } from 'node:crypto'
import { canonicalJson, type JsonObject, sameJson, type ToolDefinition } from '@sallyport/core'
import type { ServerCatalog } from './server-catalog.ts'

/** The lists of a server, and the member that names an item. */
const NAME_KEYS = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' } as const

export type ListName = keyof typeof NAME_KEYS

export const LIST_NAMES = Object.keys(NAME_KEYS) as readonly ListName[]

/** How one list of a connection differs from the list that all clients share: by names. */
interface ListDifference {
  readonly extra: ReadonlySet<string>
  readonly missing: ReadonlySet<string>
}

/** How the lists of a connection differ from the shared ones. Connections that differ in the same way share the object. */
export interface OwnLists extends Readonly<Record<ListName, ListDifference>> {
  /** Equal for equal differences. */
  readonly digest: string
}

/** Items that only some connections list. */
export type RevealedItems = Readonly<Record<ListName, readonly JsonObject[]>>

/** Whether a client with these lists sees an item; without own lists it sees what all share. */
export function isListed(own: OwnLists | undefined, list: ListName, item: ListedItem): boolean {
  if (own === undefined) return !item.isRevealed
  return item.isRevealed ? own[list].extra.has(item.name) : !own[list].missing.has(item.name)
}

interface ListedItem {
  readonly name: string
  readonly isRevealed?: boolean | undefined
}

const nameIn = (list: ListName, item: JsonObject): string => String(item[NAME_KEYS[list]])

export type Lists = Pick<ServerCatalog, ListName>

const namesIn = (lists: Lists, list: ListName): ReadonlySet<string> =>
  new Set(lists[list].map((item) => nameIn(list, item)))

/** `undefined` if both list the same. Definitions are compared elsewhere. */
export function findOwnLists(shared: Lists, own: Lists): OwnLists | undefined {
  const differences = LIST_NAMES.map((list) => {
    const [common, listed] = [namesIn(shared, list), namesIn(own, list)]
    return [list, { extra: subtract(listed, common), missing: subtract(common, listed) }] as const
  })
  if (differences.every(([, { extra, missing }]) => extra.size + missing.size === 0)) return undefined
  const texts = differences.map(([, { extra, missing }]) => [[...extra].sort(), [...missing].sort()])
  const digest = hash('sha256', canonicalJson(texts))
  return { ...(Object.fromEntries(differences) as Record<ListName, ListDifference>), digest }
}

const subtract = (from: ReadonlySet<string>, names: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...from].filter((name) => !names.has(name)))

/** The lists that are different now. */
export function findChangedLists(before: OwnLists | undefined, after: OwnLists | undefined): readonly ListName[] {
  if (before?.digest === after?.digest) return []
  const same = (one: ReadonlySet<string> = NO_NAMES, other: ReadonlySet<string> = NO_NAMES): boolean =>
    one.size === other.size && [...one].every((name) => other.has(name))
  return LIST_NAMES.filter((list) => {
    const [old, now] = [before?.[list], after?.[list]]
    return !same(old?.extra, now?.extra) || !same(old?.missing, now?.missing)
  })
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** What a connection lists, restored from its differences. */
export function restoreLists(shared: Lists, own: OwnLists | undefined, revealed: RevealedStore): Lists {
  if (own === undefined) return shared
  const lists = LIST_NAMES.map((list) => {
    const common = shared[list].filter((item) => !own[list].missing.has(nameIn(list, item)))
    return [list, [...common, ...[...own[list].extra].flatMap((name) => revealed.find(list, name) ?? [])]] as const
  })
  return Object.fromEntries(lists) as unknown as Lists
}

/** Per server and list. A server decides what it reveals; it must not decide how much memory that takes. */
const MAX_REVEALED = 500
const MAX_REVEALED_BYTES = 1_000_000

/**
 * The definitions of what only some connections list: once for all of them, within limits. They stay after their
 * connection, so that the same tool in the next conversation changes nothing for anybody else.
 */
export class RevealedStore {
  readonly #items = new Map<ListName, Map<string, { readonly item: JsonObject; readonly bytes: number }>>()
  #snapshot: RevealedItems | undefined

  find(list: ListName, name: string): JsonObject | undefined {
    return this.#items.get(list)?.get(name)?.item
  }

  /** The same object until something changes; `undefined` if there is nothing. */
  get items(): RevealedItems | undefined {
    if (this.#items.size === 0) return undefined
    this.#snapshot ??= Object.fromEntries(
      LIST_NAMES.map((list) => [list, [...(this.#items.get(list)?.values() ?? [])].map(({ item }) => item)]),
    ) as unknown as RevealedItems
    return this.#snapshot
  }

  /**
   * Stores what the shared lists do not have, and returns the lists without what found no room. `isUsed`: another
   * connection lists it.
   */
  admit(shared: Lists, own: Lists, isUsed: (list: ListName, name: string) => boolean): Lists {
    const lists = LIST_NAMES.map((list) => {
      const common = namesIn(shared, list)
      const wanted = new Set(own[list].map((item) => nameIn(list, item)))
      const isNeeded = (name: string): boolean => wanted.has(name) || isUsed(list, name)
      const admitted = own[list].filter((item) => {
        const name = nameIn(list, item)
        return common.has(name) || this.#add(list, item, isNeeded)
      })
      return [list, admitted] as const
    })
    return Object.fromEntries(lists) as unknown as Lists
  }

  /** Items that all share by now. */
  forget(shared: Lists): void {
    for (const [list, items] of [...this.#items]) {
      for (const name of namesIn(shared, list)) if (items.delete(name)) this.#snapshot = undefined
      if (items.size === 0) this.#items.delete(list)
    }
  }

  #add(list: ListName, item: JsonObject, isNeeded: (name: string) => boolean): boolean {
    const items = this.#items.get(list) ?? new Map<string, { item: JsonObject; bytes: number }>()
    const name = nameIn(list, item)
    if (items.has(name)) return true
    const bytes = JSON.stringify(item).length
    let used = [...items.values()].reduce((sum, known) => sum + known.bytes, 0)
    const hasRoom = (): boolean => items.size < MAX_REVEALED && used + bytes <= MAX_REVEALED_BYTES
    for (const [old, known] of [...items]) {
      if (hasRoom()) break
      if (isNeeded(old)) continue
      items.delete(old)
      used -= known.bytes
    }
    if (!hasRoom()) return false
    items.set(name, { item, bytes })
    this.#items.set(list, items)
    this.#snapshot = undefined
    return true
  }
}

/** Tools that another process of the same server defines differently: it may be another version. */
export function findDifferingTools(
  existing: readonly ToolDefinition[],
  others: readonly ToolDefinition[],
  ignored: JsonObject,
): readonly ToolDefinition[] {
  const byName = new Map(existing.map((tool) => [tool.name, tool]))
  return others.filter((tool) => {
    const own = byName.get(tool.name)
    return own !== undefined && own !== tool && !sameJson({ ...own, ...ignored }, { ...tool, ...ignored })
  })
}

/** No model reads `_meta`, and it may differ in each process. */
export const META_ONLY: JsonObject = { _meta: undefined }
/** What the eras write differently. Clients get these parts from the first connection only. */
export const ERA_SPECIFIC: JsonObject = { ...META_ONLY, outputSchema: undefined, execution: undefined }
