import type { JsonObject, ToolDefinition } from '@sallyport/core'
import {
  ERA_SPECIFIC,
  findChangedLists,
  findDifferingTools,
  findOwnLists,
  LIST_NAMES,
  type ListName,
  type Lists,
  META_ONLY,
  type OwnLists,
  RevealedStore,
  restoreLists,
} from './own-lists.ts'
import type { ServerCatalog } from './server-catalog.ts'

/** A dedicated connection, as far as its lists are concerned. */
export interface ListedConnection {
  readonly slot: string
  /** What its client declares, and in which era, as one text. */
  readonly capabilities: string
  /** Nobody sees its lists: each call may use another connection of this kind. */
  readonly isExclusive: boolean
  /** `legacy`: it speaks another era than the first connection. */
  readonly era?: 'legacy' | undefined
}

interface KnownLists extends ListedConnection {
  /** How they differ from those of the first connection, if they do. */
  readonly own: OwnLists | undefined
  /** The tools that its process defines differently from the first one. */
  readonly deviating: readonly ToolDefinition[]
}

export interface ListsUpdate {
  /** The lists that the clients of the connection see differently now. */
  readonly changed: readonly ListName[]
  /** Whether the catalog of the server must be published again. */
  readonly isNews: boolean
}

/**
 * The lists of all connections to one server: those of the first connection, which all clients share, and of every other
 * connection only the differences.
 */
export class ConnectionLists {
  readonly #bySlot = new Map<string, KnownLists>()
  /** By declared capabilities: how the lists of a new connection of such a client differ. */
  readonly #baselines = new Map<string, OwnLists | undefined>()
  readonly #revealed = new RevealedStore()
  /** The lists of connections that were ready before the first one. */
  readonly #early = new Map<string, { readonly connection: ListedConnection; readonly lists: Lists }>()
  #shared: ServerCatalog | undefined
  #hasOwn = false

  get shared(): ServerCatalog | undefined {
    return this.#shared
  }

  /** Usually none differ: then no reader needs to look for its connection. */
  get hasOwn(): boolean {
    return this.#hasOwn
  }

  find({ slot, capabilities }: Pick<ListedConnection, 'slot' | 'capabilities'>): OwnLists | undefined {
    const known = this.#bySlot.get(slot)
    return known ? known.own : this.#baselines.get(capabilities)
  }

  isKnown({ slot, capabilities }: Pick<ListedConnection, 'slot' | 'capabilities'>): boolean {
    return this.#bySlot.has(slot) || this.#baselines.has(capabilities)
  }

  /** The first connection has other lists: the others are compared with those. */
  setShared(catalog: ServerCatalog): void {
    const before = this.#shared
    this.#shared = catalog
    if (before === undefined) return this.#compareEarly()
    if (LIST_NAMES.every((list) => before[list] === catalog[list])) return
    const listed = [...this.#bySlot.values()].map((known) => ({ known, lists: this.#restore(known, before) }))
    if (findOwnLists(before, catalog) !== undefined) this.#baselines.clear()
    this.#revealed.forget(catalog)
    for (const { known, lists } of listed) this.#bySlot.set(known.slot, this.#compare(known, lists))
    this.#noteDifferences()
  }

  /** The lists of a dedicated connection were read. */
  setOwn(connection: ListedConnection, lists: Lists): ListsUpdate {
    const { slot, capabilities, isExclusive } = connection
    if (this.#shared === undefined) {
      this.#early.set(slot, { connection, lists })
      return { changed: [], isNews: false }
    }
    const [seen, stored, before] = [this.find(connection), this.#revealed.items, this.#bySlot.get(slot)]
    const now = this.#compare(connection, lists)
    this.#bySlot.set(slot, now)
    // Before its first call, it lists what any connection of such a client does.
    if (!before && !isExclusive && !this.#baselines.has(capabilities)) this.#baselines.set(capabilities, now.own)
    this.#noteDifferences()
    const deviates = (before?.deviating.length ?? 0) + now.deviating.length > 0
    return { changed: findChangedLists(seen, now.own), isNews: deviates || stored !== this.#revealed.items }
  }

  /** The lists for clients like this one were read, or could not be: then they see what all share. */
  setBaseline(connection: ListedConnection, lists: Lists | undefined): ListsUpdate {
    const { capabilities } = connection
    const stored = this.#revealed.items
    if (!this.#baselines.has(capabilities))
      this.#baselines.set(capabilities, lists && this.#compare({ ...connection, slot: '' }, lists).own)
    this.#noteDifferences()
    return { changed: [], isNews: stored !== this.#revealed.items }
  }

  /** The connection is gone. What its clients see now is what a new one would list. */
  remove(connection: ListedConnection): ListsUpdate {
    const seen = this.find(connection)
    const before = this.#bySlot.get(connection.slot)
    this.#bySlot.delete(connection.slot)
    this.#early.delete(connection.slot)
    this.#noteDifferences()
    return {
      changed: findChangedLists(seen, this.find(connection)),
      isNews: before !== undefined && before.deviating.length > 0,
    }
  }

  /** One definition for all: if a process has a different one, that one must be reviewed (GOV-9). */
  publishable(shared: ServerCatalog): ServerCatalog {
    const deviating = [...this.#bySlot.values()].flatMap((known) => known.deviating)
    const { items } = this.#revealed
    if (deviating.length === 0) return items ? { ...shared, revealed: items } : shared
    const others = new Map(deviating.map((tool) => [tool.name, tool]))
    const replace = <Item extends JsonObject>(tools: readonly Item[]): readonly Item[] =>
      tools.map((tool) => (others.get(String(tool.name)) as Item | undefined) ?? tool)
    const revealed = items && { ...items, tools: replace(items.tools) }
    return { ...shared, tools: replace(shared.tools), ...(revealed && { revealed }) }
  }

  #compareEarly(): void {
    for (const { connection, lists } of this.#early.values()) this.setOwn(connection, lists)
    this.#early.clear()
  }

  #compare(connection: ListedConnection, lists: Lists): KnownLists {
    const { slot, capabilities, isExclusive, era } = connection
    const shared = this.#shared ?? lists
    const isUsed = (list: ListName, name: string): boolean =>
      this.#allOwn((other) => other.slot !== slot).some((own) => own?.[list].extra.has(name))
    const admitted = isExclusive ? lists : this.#revealed.admit(shared, lists, isUsed)
    const own = isExclusive ? undefined : this.#reuse(findOwnLists(shared, admitted))
    const revealed = (isExclusive ? [] : (this.#revealed.items?.tools ?? [])) as readonly ToolDefinition[]
    const ignored = era === undefined ? META_ONLY : ERA_SPECIFIC
    const deviating = findDifferingTools([...shared.tools, ...revealed], admitted.tools, ignored)
    return { slot, capabilities, isExclusive, era, own, deviating }
  }

  #restore({ own, deviating }: KnownLists, shared: Lists): Lists {
    const lists = restoreLists(shared, own, this.#revealed)
    if (deviating.length === 0) return lists
    const others = new Map(deviating.map((tool) => [tool.name, tool]))
    return { ...lists, tools: lists.tools.map((tool) => others.get(tool.name) ?? tool) }
  }

  /** Many connections differ in the same way. */
  #reuse(own: OwnLists | undefined): OwnLists | undefined {
    return own && (this.#allOwn().find((other) => other?.digest === own.digest) ?? own)
  }

  #allOwn(filter: (known: KnownLists) => boolean = () => true): readonly (OwnLists | undefined)[] {
    const known = [...this.#bySlot.values()].filter(filter)
    return [...known.map(({ own }) => own), ...this.#baselines.values()]
  }

  #noteDifferences(): void {
    this.#hasOwn = this.#allOwn().some((own) => own !== undefined)
  }
}
