import type { JsonObject } from '@sallyport/core'
import type { CatalogChange } from '../catalog/catalog.ts'

/** Somebody who wants to hear that something changed. */
export interface Watcher {
  readonly wants: { readonly tools: boolean; readonly resources: boolean; readonly prompts: boolean }
  readonly wantsResource: (uri: string) => boolean
  readonly tell: (notification: JsonObject) => void
}

const LIST_CHANGED: readonly (readonly [keyof CatalogChange, string])[] = [
  ['tools', 'notifications/tools/list_changed'],
  ['prompts', 'notifications/prompts/list_changed'],
  ['resources', 'notifications/resources/list_changed'],
]

/** Carries news of changes to every client that listens. */
export class ChangeHub {
  readonly #watchers = new Set<Watcher>()

  get size(): number {
    return this.#watchers.size
  }

  add(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  listsChanged(change: CatalogChange): void {
    for (const [family, method] of LIST_CHANGED) {
      if (!change[family]) continue
      for (const watcher of this.#watchers) if (watcher.wants[family]) watcher.tell({ method })
    }
  }

  resourceUpdated(uri: string): void {
    for (const watcher of this.#watchers) {
      if (watcher.wantsResource(uri)) watcher.tell({ method: 'notifications/resources/updated', params: { uri } })
    }
  }
}
