import {
  HIGHEST_SENSITIVITY,
  higherSensitivity,
  isJsonList,
  isJsonObject,
  isSensitivity,
  type Json,
  type JsonObject,
  type Sensitivity,
} from '@sallyport/core'
import type { PrivateDataset } from './label.ts'

/** What a server says of a session, for a gateway or a client. */
export interface LabelClaim {
  readonly sensitivity: Sensitivity
  readonly datasets: readonly PrivateDataset[]
}

/** The claim as it stands: the highest of all that it says, and whatever cannot be read counts as the strictest. */
export function readLabelClaim(value: unknown): LabelClaim {
  if (!isJsonObject(value)) return { sensitivity: HIGHEST_SENSITIVITY, datasets: [] }
  const listed = isJsonList(value.datasets) ? value.datasets : []
  const datasets = listed.filter(isDataset).map(({ name, sensitivity }) => ({ name, sensitivity }))
  const said = datasets.map(({ sensitivity }) => sensitivity)
  const whole = datasets.length < listed.length ? HIGHEST_SENSITIVITY : readOverallSensitivity(value, said)
  return { sensitivity: said.reduce(higherSensitivity, whole), datasets }
}

/** Datasets speak for themselves where nothing is said of the whole. */
function readOverallSensitivity({ sensitivity }: JsonObject, said: readonly Sensitivity[]): Sensitivity {
  if (sensitivity === undefined && said[0] !== undefined) return said[0]
  return isSensitivity(sensitivity) ? sensitivity : HIGHEST_SENSITIVITY
}

function isDataset(value: Json): value is Json & PrivateDataset {
  return isJsonObject(value) && typeof value.name === 'string' && isSensitivity(value.sensitivity)
}
