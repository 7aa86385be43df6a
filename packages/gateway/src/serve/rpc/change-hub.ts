import { type JsonObject, type Principal, toOwnerKey } from '@sallyport/core'
import type { CatalogChange } from '../../catalog/catalog.ts'
import type { VisibleOffers } from '../../pipeline/pipeline.ts'
import type { Client, OwnListsChange } from '../../upstream/upstream.ts'

/** A client that wants to be notified of changed lists. */
export interface Watcher {
  readonly principal: Principal
  /** A client in a legacy conversation, which may have connections of its own; missing for others. */
  readonly client?: (() => Client) | undefined
  readonly wants: { readonly tools: boolean; readonly resources: boolean; readonly prompts: boolean }
  readonly notify: (notification: JsonObject) => void
}

const LIST_CHANGED: readonly (readonly [keyof CatalogChange, string])[] = [
  ['tools', 'notifications/tools/list_changed'],
  ['prompts', 'notifications/prompts/list_changed'],
  ['resources', 'notifications/resources/list_changed'],
]

const UNCHANGED: CatalogChange = { tools: false, resources: false, prompts: false }

/** Servers start in quick succession: one notification for all of them is enough. */
const BATCH_DELAY_MS = 50

/** Notifies every listening client of changed lists. Updates of single resources go only to their subscribers. */
export class ChangeHub {
  readonly #watchers = new Set<Watcher>()
  /** Changes for all watchers, and changes for single watchers. */
  #pendingForAll: CatalogChange = UNCHANGED
  #pendingByWatcher = new Map<Watcher, CatalogChange>()
  #timer: NodeJS.Timeout | undefined

  get size(): number {
    return this.#watchers.size
  }

  add(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** `concerns`: who is notified; everybody if missing. */
  listsChanged(change: CatalogChange, concerns?: (principal: Principal) => boolean): void {
    if (concerns === undefined) this.#pendingForAll = mergeChanges(this.#pendingForAll, change)
    else for (const watcher of this.#watchers) if (concerns(watcher.principal)) this.#addPending(watcher, change)
    this.#scheduleNotices()
  }

  /** Lists of single legacy conversations changed: nobody else is notified. */
  ownListsChanged({ lists, concerns }: OwnListsChange): void {
    const change = {
      tools: lists.includes('tools'),
      resources: lists.includes('resources') || lists.includes('resourceTemplates'),
      prompts: lists.includes('prompts'),
    }
    for (const watcher of this.#watchers) {
      const client = watcher.client?.()
      if (client && concerns({ session: toOwnerKey(watcher.principal), client })) this.#addPending(watcher, change)
    }
    this.#scheduleNotices()
  }

  #addPending(watcher: Watcher, change: CatalogChange): void {
    this.#pendingByWatcher.set(watcher, mergeChanges(this.#pendingByWatcher.get(watcher) ?? UNCHANGED, change))
  }

  /** Makes a change after which some watchers may see other lists, and notifies only those. */
  applyChange(visibleTo: (principal: Principal) => VisibleOffers, change: () => void): void {
    const before = [...this.#watchers].map((watcher) => ({ watcher, visible: visibleTo(watcher.principal) }))
    change()
    for (const { watcher, visible } of before) {
      this.#addPending(watcher, compareViews(visible, visibleTo(watcher.principal)))
    }
    this.#scheduleNotices()
  }

  #scheduleNotices(): void {
    this.#timer ??= setTimeout(() => this.#notifyWatchers(), BATCH_DELAY_MS)
    this.#timer.unref()
  }

  #notifyWatchers(): void {
    const [forAll, forSome] = [this.#pendingForAll, this.#pendingByWatcher]
    this.#pendingForAll = UNCHANGED
    this.#pendingByWatcher = new Map()
    this.#timer = undefined
    for (const [family, method] of LIST_CHANGED) {
      for (const watcher of this.#watchers) {
        const isChanged = forAll[family] || forSome.get(watcher)?.[family]
        if (isChanged && watcher.wants[family]) watcher.notify({ method })
      }
    }
  }
}

const mergeChanges = (a: CatalogChange, b: CatalogChange): CatalogChange => ({
  tools: a.tools || b.tools,
  resources: a.resources || b.resources,
  prompts: a.prompts || b.prompts,
})

function compareViews(before: VisibleOffers, after: VisibleOffers): CatalogChange {
  const differs = (family: keyof VisibleOffers): boolean =>
    before[family].length !== after[family].length ||
    before[family].some((offer, index) => offer !== after[family][index])
  return { tools: differs('tools'), resources: differs('resources'), prompts: differs('prompts') }
}
