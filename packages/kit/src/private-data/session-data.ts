import { join } from 'node:path'
import { HIGHEST_SENSITIVITY, isPrivate, SallyportError, type Sensitivity } from '@sallyport/core'
import { currentScope, findScope, type RequestScope } from '../identity/identity.ts'
import { addStatement, countUnowned, failStatement } from './call-statements.ts'
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
export function getLabelStore(dataFolder: string): LabelStore {
  const opened = stores.get(dataFolder)
  if (opened !== undefined) return opened
  const store = openLabelStore(join(dataFolder, 'labels'))
  stores.set(dataFolder, store)
  return store
}

/** The private data of the user and session on whose behalf the running handler was called. */
export function privateData(): PrivateData {
  // Whoever catches the error below may go on to return the data.
  if (findScope() === undefined) countUnowned()
  const scope = currentScope()
  const read = async (): Promise<Label> => {
    const here = findScope() ?? scope
    assertSameOwner([scope, here])
    return getLabelStore(here.dataFolder).read(here)
  }
  return {
    addPrivateDataset(name, sensitivity) {
      // Another call than this was asked in, if somebody kept the object: it counts for both.
      const scopes = new Set([scope, findScope() ?? scope])
      const raised = raiseLabel([...scopes], { name, sensitivity })
      for (const each of scopes) addStatement(each, raised)
      return raised
    },
    label: read,
    sensitivity: async () => (await read()).sensitivity,
    isPrivate: async (from) => isPrivate((await read()).sensitivity, from),
  }
}

/** The name under which a statement is kept that could not be understood. */
const INVALID_STATEMENT = 'invalid statement (the log of the server has it)'

interface Statement {
  readonly name: string
  readonly sensitivity: Sensitivity
}

/** What cannot be understood counts as the strictest, for the session, and fails the call that said it. */
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

/** Nobody can tell which of two sessions is meant, and neither may learn what the other one holds. */
function assertSameOwner(scopes: readonly RequestScope[]): void {
  const owners = scopes.map(({ dataFolder, userId, sessionId }) => JSON.stringify([dataFolder, userId, sessionId]))
  if (new Set(owners).size === 1) return
  throw new SallyportError('USAGE', 'privateData() was asked in a call of another session than it is used in.', {
    hint: 'Call privateData() anew in every handler, and keep its result no longer than the call.',
  })
}
