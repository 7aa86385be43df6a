import { join } from 'node:path'
import { HIGHEST_SENSITIVITY, isPrivate, LOWEST_SENSITIVITY, SallyportError, type Sensitivity } from '@sallyport/core'
import { currentScope, findScope, type RequestScope } from '../identity/identity.ts'
import { addStatement, countUnowned, failStatement } from './call-statements.ts'
import { isPrivateInGateway } from './gateway-privacy.ts'
import type { Label } from './label.ts'
import { checkDataset, type LabelStore, openLabelStore } from './label-store.ts'

/** The private data of the calling session. */
export interface PrivateData {
  /**
   * Call this before the data is returned. Resolves once it is stored. The result waits for it in any case, and is
   * withheld if the statement is invalid or cannot be stored.
   */
  addPrivateDataset(name: string, sensitivity: Sensitivity): Promise<Label>
  label(): Promise<Label>
  sensitivity(): Promise<Sensitivity>
  isPrivate(from?: Sensitivity): Promise<boolean>
}

const stores = new Map<string, LabelStore>()

/** One store for each data folder, so that all code in this process sees what was raised. */
export function getLabelStore(dataFolder: string): LabelStore {
  const opened = stores.get(dataFolder)
  if (opened !== undefined) return opened
  const store = openLabelStore(join(dataFolder, 'labels'))
  stores.set(dataFolder, store)
  return store
}

/** The private data of the user and session on whose behalf the running handler was called. */
export function privateData(): PrivateData {
  // A handler that catches the error below might still return the data.
  if (findScope() === undefined) countUnowned()
  const scope = currentScope()
  const read = async (): Promise<Label> => {
    const here = findScope() ?? scope
    assertSameOwner([scope, here])
    return getLabelStore(here.dataFolder).read(here)
  }
  return {
    addPrivateDataset(name, sensitivity) {
      // If the object was kept and is used in another call, the statement counts for both calls.
      const scopes = new Set([scope, findScope() ?? scope])
      const raised = raiseLabel([...scopes], { name, sensitivity })
      for (const each of scopes) addStatement(each, raised)
      return raised
    },
    label: read,
    sensitivity: async () => (await read()).sensitivity,
    isPrivate: async (from) => {
      const { sensitivity } = await read()
      return isPrivate(sensitivity, from) || (from === undefined && isPrivateInGateway(findScope() ?? scope))
    },
  }
}

/** Whether the session holds more than public data, as far as anybody has said. */
export const hasLabel = async (scope: RequestScope): Promise<boolean> =>
  isPrivateInGateway(scope) || (await getLabelStore(scope.dataFolder).read(scope)).sensitivity !== LOWEST_SENSITIVITY

/** The dataset name that is stored for an invalid statement. */
const INVALID_STATEMENT = 'invalid statement (the log of the server has it)'

interface Statement {
  readonly name: string
  readonly sensitivity: Sensitivity
}

/** An invalid statement counts as the strictest for the session, and fails its call. */
async function raiseLabel(scopes: readonly RequestScope[], { name, sensitivity }: Statement): Promise<Label> {
  try {
    checkDataset(name, sensitivity)
    assertSameOwner(scopes)
  } catch (error) {
    for (const scope of scopes) failStatement(scope, error)
    await Promise.all(scopes.map((scope) => raiseFor(scope, INVALID_STATEMENT, HIGHEST_SENSITIVITY)))
    throw error
  }
  return raiseFor(scopes[0] as RequestScope, name, sensitivity)
}

const raiseFor = (scope: RequestScope, name: string, sensitivity: Sensitivity): Promise<Label> =>
  getLabelStore(scope.dataFolder).raise(scope, name, sensitivity)

/** It is unclear which of the two sessions is meant, and neither may learn the other's label. */
function assertSameOwner(scopes: readonly RequestScope[]): void {
  const owners = scopes.map(({ dataFolder, userId, sessionId }) => JSON.stringify([dataFolder, userId, sessionId]))
  if (new Set(owners).size === 1) return
  throw new SallyportError('USAGE', 'privateData() was called in one session, and its result is used in another.', {
    hint: 'Call privateData() in every handler, and do not use its result after the call.',
  })
}
