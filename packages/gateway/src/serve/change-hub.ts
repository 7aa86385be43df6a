import type { JsonObject } from '@sallyport/core'
import type { CatalogChange } from '../catalog/catalog.ts'

/** Somebody who wants to hear that a list changed. */
export interface Watcher {
  readonly wants: { readonly tools: boolean; readonly resources: boolean; readonly prompts: boolean }
  readonly tell: (notification: JsonObject) => void
}

const LIST_CHANGED: readonly (readonly [keyof CatalogChange, string])[] = [
  ['tools', 'notifications/tools/list_changed'],
  ['prompts', 'notifications/prompts/list_changed'],
  ['resources', 'notifications/resources/list_changed'],
]

const UNCHANGED: CatalogChange = { tools: false, resources: false, prompts: false }

/** Servers come up in quick succession: one notice for all of them is enough. */
const GATHER = 50

/** Carries news of changed lists to every client that listens. News of resources go to those who subscribed. */
export class ChangeHub {
  readonly #watchers = new Set<Watcher>()
  #gathered: CatalogChange = UNCHANGED
  #timer: NodeJS.Timeout | undefined

  get size(): number {
    return this.#watchers.size
  }

  add(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  listsChanged(change: CatalogChange): void {
    const { tools, resources, prompts } = this.#gathered
    this.#gathered = {
      tools: tools || change.tools,
      resources: resources || change.resources,
      prompts: prompts || change.prompts,
    }
    this.#timer ??= setTimeout(() => this.#tellLists(), GATHER)
    this.#timer.unref()
  }

  #tellLists(): void {
    const change = this.#gathered
    this.#gathered = UNCHANGED
    this.#timer = undefined
    for (const [family, method] of LIST_CHANGED) {
      if (!change[family]) continue
      for (const watcher of this.#watchers) if (watcher.wants[family]) watcher.tell({ method })
    }
  }
}
