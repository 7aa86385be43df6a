import type { JsonObject, Principal } from '@sallyport/core'
import type { CatalogChange } from '../../catalog/catalog.ts'
import type { VisibleOffers } from '../../pipeline/pipeline.ts'

/** Somebody who wants to hear that a list changed. */
export interface Watcher {
  readonly principal: Principal
  readonly wants: { readonly tools: boolean; readonly resources: boolean; readonly prompts: boolean }
  readonly notify: (notification: JsonObject) => void
}

const LIST_CHANGED: readonly (readonly [keyof CatalogChange, string])[] = [
  ['tools', 'notifications/tools/list_changed'],
  ['prompts', 'notifications/prompts/list_changed'],
  ['resources', 'notifications/resources/list_changed'],
]

const UNCHANGED: CatalogChange = { tools: false, resources: false, prompts: false }

/** Servers come up in quick succession: one notice for all of them is enough. */
const BATCH_DELAY_MS = 50

/** Carries news of changed lists to every client that listens. News of resources go to those who subscribed. */
export class ChangeHub {
  readonly #watchers = new Set<Watcher>()
  /** What concerns everybody, and what concerns only some. */
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

  listsChanged(change: CatalogChange): void {
    this.#pendingForAll = mergeChanges(this.#pendingForAll, change)
    this.#scheduleNotices()
  }

  /** Makes a change after which some may see other lists; those, and nobody else, are told. */
  applyChange(sightOf: (principal: Principal) => VisibleOffers, change: () => void): void {
    const before = [...this.#watchers].map((watcher) => ({ watcher, sight: sightOf(watcher.principal) }))
    change()
    for (const { watcher, sight } of before) {
      const differing = compareViews(sight, sightOf(watcher.principal))
      this.#pendingByWatcher.set(watcher, mergeChanges(this.#pendingByWatcher.get(watcher) ?? UNCHANGED, differing))
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
        const isNews = forAll[family] || forSome.get(watcher)?.[family]
        if (isNews && watcher.wants[family]) watcher.notify({ method })
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
    before[family].length !== after[family].length || before[family].some((one, at) => one !== after[family][at])
  return { tools: differs('tools'), resources: differs('resources'), prompts: differs('prompts') }
}
