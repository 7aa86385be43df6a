import { cutText, isAtLeast, type JsonObject } from '@sallyport/core'
import type { RequestScope } from '../identity/identity.ts'
import { closeStatements, settleStatements } from './call-statements.ts'
import type { Label } from './label.ts'
import type { LabelSettings } from './label-settings.ts'
import { getLabelStore } from './session-data.ts'
import { signLabel } from './signed-label.ts'

/** Where a result carries what its session holds. */
export const PRIVATE_DATA_META = 'sallyport/private_data'

/** So many datasets are named in a result; the sensitivity is that of all of them. */
const MAX_NAMED_DATASETS = 50
const MAX_SHOWN_NAME_LENGTH = 200

/**
 * The `_meta` entry for whatever is about to be released: the label of the session at this moment, once all of it is
 * durable. Throws if it cannot be made so, or if the call made a statement that cannot be understood; then nothing may
 * be released. Undefined where nothing is to be said. A statement that is made afterwards goes to `reportLate`.
 */
export async function finalizeLabel(
  scope: RequestScope,
  { secret }: LabelSettings,
  reportLate: (error: unknown) => void,
): Promise<JsonObject | undefined> {
  const store = getLabelStore(scope.dataFolder)
  let label: Label
  do {
    await settleStatements(scope)
    await store.settle(scope)
    label = await store.read(scope)
    // A statement that was made meanwhile is waited for as well. Asked and closed in one turn, so that none is missed.
  } while (!closeStatements(scope, reportLate))
  // With a secret every result has its label, so that one without can be told from one that was stripped of it.
  if (secret === undefined) return isEmptyLabel(label) ? undefined : toLabelClaim(label)
  const said = toLabelClaim(label)
  return { ...said, signed: signLabel({ session: scope.sessionId, ...said }, { secret }) }
}

const isEmptyLabel = ({ datasets, doubt }: Label): boolean => datasets.length === 0 && doubt === undefined

function toLabelClaim({ sensitivity, datasets }: Label) {
  const guardedFirst = datasets.toSorted((a, b) => (isAtLeast(a.sensitivity, b.sensitivity) ? -1 : 1))
  const named = guardedFirst.slice(0, MAX_NAMED_DATASETS)
  return { sensitivity, datasets: named.map((each) => ({ ...each, name: cutText(each.name, MAX_SHOWN_NAME_LENGTH) })) }
}
