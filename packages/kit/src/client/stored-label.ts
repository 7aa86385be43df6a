import type { Sensitivity } from '@sallyport/core'
import type { SharedLabel } from './session-label.ts'

/** What is needed of a store of labels; `openLabelStore` gives one. */
interface MinimalLabelStore<Owner> {
  read(owner: Owner): Promise<{ readonly sensitivity: Sensitivity }>
  raise(owner: Owner, dataset: string, sensitivity: Sensitivity): Promise<unknown>
}

/** The label of one session in a store that several processes share. */
export const storedLabel = <Owner>(store: MinimalLabelStore<Owner>, owner: Owner): SharedLabel => ({
  read: async () => (await store.read(owner)).sensitivity,
  raise: (dataset, sensitivity) => store.raise(owner, dataset, sensitivity),
})
