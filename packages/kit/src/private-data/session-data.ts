import { join } from 'node:path'
import { HIGHEST_SENSITIVITY, isPrivate, type Sensitivity } from '@sallyport/core'
import { currentScope, findScope, type RequestScope } from '../identity/identity.ts'
import { addStatement, failStatement, noteUnowned } from './call-statements.ts'
import type { Label } from './label.ts'
import { checkDataset, type LabelStore, openLabelStore } from './label-store.ts'

/** What the calling session holds. */
export interface PrivateData {
  /**
   * Say it before the data is returned. Resolves once it is durable; the result waits for it in any case, and is
   * withheld if the statement is invalid or cannot be stored.
   */
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
  // Whoever catches the error below may go on to return the data.
  if (findScope() === undefined) noteUnowned()
  const scope = currentScope()
  const store = labelStoreBelow(scope.dataFolder)
  return {
    addPrivateDataset(name, sensitivity) {
      const raised = raise(store, scope, { name, sensitivity })
      addStatement(scope, raised)
      return raised
    },
    label: () => store.read(scope),
    sensitivity: async () => (await store.read(scope)).sensitivity,
    isPrivate: async (from) => isPrivate((await store.read(scope)).sensitivity, from),
  }
}

/** The name under which a statement is kept that could not be understood. */
const INVALID = 'invalid statement (the log of the server has it)'

/** What cannot be understood counts as the strictest, for the session, and fails the call that said it. */
async function raise(
  store: LabelStore,
  scope: RequestScope,
  { name, sensitivity }: { readonly name: string; readonly sensitivity: Sensitivity },
): Promise<Label> {
  try {
    checkDataset(name, sensitivity)
  } catch (error) {
    failStatement(scope, error)
    await store.raise(scope, INVALID, HIGHEST_SENSITIVITY)
    throw error
  }
  return store.raise(scope, name, sensitivity)
}
