import { join } from 'node:path'
import { isPrivate, type Sensitivity } from '@sallyport/core'
import { currentScope } from '../identity/identity.ts'
import type { Label } from './label.ts'
import { type LabelStore, openLabelStore } from './label-store.ts'

/** What the calling session holds. */
export interface PrivateData {
  /** Say it before the data is returned. Resolves once it is durable; the result waits for it in any case. */
  addPrivateDataset(name: string, sensitivity: Sensitivity): Promise<Label>
  label(): Promise<Label>
  sensitivity(): Promise<Sensitivity>
  isPrivate(from?: Sensitivity): Promise<boolean>
}

const stores = new Map<string, LabelStore>()

/** One for each data folder: what a process raised must be known to all who ask in it. */
export function labelStoreBelow(dataFolder: string): LabelStore {
  const opened = stores.get(dataFolder)
  if (opened !== undefined) return opened
  const store = openLabelStore(join(dataFolder, 'labels'))
  stores.set(dataFolder, store)
  return store
}

/** The private data of the user and session on whose behalf the running handler was called. */
export function privateData(): PrivateData {
  const scope = currentScope()
  const store = labelStoreBelow(scope.dataFolder)
  return {
    addPrivateDataset(name, sensitivity) {
      const raised = store.raise(scope, name, sensitivity)
      // Where nobody awaits it, the release of the result does, and reports a failure.
      raised.catch(() => undefined)
      return raised
    },
    label: () => store.read(scope),
    sensitivity: async () => (await store.read(scope)).sensitivity,
    isPrivate: async (from) => isPrivate((await store.read(scope)).sensitivity, from),
  }
}
