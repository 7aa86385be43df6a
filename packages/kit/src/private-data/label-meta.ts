import { cutText, isAtLeast, type JsonObject } from '@sallyport/core'
import type { RequestScope } from '../identity/identity.ts'
import { closeStatements, settleStatements } from './call-statements.ts'
import { omitGatewayLabel } from './gateway-label.ts'
import type { Label } from './label.ts'
import type { LabelSettings } from './label-settings.ts'
import { getLabelStore } from './session-data.ts'
import { signLabel } from './signed-label.ts'

/** The key in a result's `_meta` for the label of its session. */
export const PRIVATE_DATA_META = 'sallyport/private_data'

/** At most this many datasets are named in a result; the sensitivity is that of all datasets. */
const MAX_NAMED_DATASETS = 50
const MAX_SHOWN_NAME_LENGTH = 200

/**
 * The `_meta` entry for a result that is about to be released: the current label of the session, once all of it is
 * stored. Throws if it cannot be stored, or if the call made an invalid statement; then nothing may be released.
 * `undefined` if there is nothing to report. A statement that is made afterwards goes to `reportLate`.
 */
export async function finalizeLabel(
  scope: RequestScope,
  settings: LabelSettings,
  reportLate: (error: unknown) => void,
): Promise<JsonObject | undefined> {
  let label: Label
  do {
    label = await readStoredLabel(scope)
    // Waits for a statement that was made meanwhile, too. Checking and closing happen in one tick, so that none is missed.
  } while (!closeStatements(scope, reportLate))
  return toLabelEntry(label, scope, settings)
}

/** The same for a question that is asked while the call runs: statements can follow. */
export const readLabelEntry = async (scope: RequestScope, settings: LabelSettings): Promise<JsonObject | undefined> =>
  toLabelEntry(await readStoredLabel(scope), scope, settings)

async function readStoredLabel(scope: RequestScope): Promise<Label> {
  const store = getLabelStore(scope.dataFolder)
  await settleStatements(scope)
  await store.settle(scope)
  return omitGatewayLabel(await store.read(scope), scope)
}

function toLabelEntry(label: Label, { sessionId }: RequestScope, { secret }: LabelSettings): JsonObject | undefined {
  // With a secret every result has a label, so that a removed label is noticed.
  if (secret === undefined) return isEmptyLabel(label) ? undefined : toLabelClaim(label)
  const claim = toLabelClaim(label)
  return { ...claim, signed: signLabel({ session: sessionId, ...claim }, { secret }) }
}

const isEmptyLabel = ({ datasets, problem }: Label): boolean => datasets.length === 0 && problem === undefined

function toLabelClaim({ sensitivity, datasets }: Label) {
  const guardedFirst = datasets.toSorted((a, b) => (isAtLeast(a.sensitivity, b.sensitivity) ? -1 : 1))
  const named = guardedFirst.slice(0, MAX_NAMED_DATASETS)
  return { sensitivity, datasets: named.map((each) => ({ ...each, name: cutText(each.name, MAX_SHOWN_NAME_LENGTH) })) }
}
