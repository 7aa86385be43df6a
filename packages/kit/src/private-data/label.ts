import { HIGHEST_SENSITIVITY, higherSensitivity, LOWEST_SENSITIVITY, type Sensitivity } from '@sallyport/core'

/** A dataset that a session has seen, and how sensitive it is. */
export interface PrivateDataset {
  readonly name: string
  readonly sensitivity: Sensitivity
}

/** What a session has come to hold. It only ever rises. */
export interface Label {
  /** The highest of the datasets, PUBLIC without any; the highest there is while something is in doubt. */
  readonly sensitivity: Sensitivity
  /** By name. A dataset that is PUBLIC is among them, and makes nothing private. */
  readonly datasets: readonly PrivateDataset[]
  /** Why the label could not be read in full: unknown means strictest. */
  readonly doubt?: string
}

export function createLabel(datasets: ReadonlyMap<string, Sensitivity>, doubt?: string): Label {
  const sorted = [...datasets].sort(([a], [b]) => (a < b ? -1 : 1))
  const known = sorted.reduce<Sensitivity>(
    (most, [, sensitivity]) => higherSensitivity(most, sensitivity),
    LOWEST_SENSITIVITY,
  )
  return {
    sensitivity: doubt === undefined ? known : HIGHEST_SENSITIVITY,
    datasets: sorted.map(([name, sensitivity]) => ({ name, sensitivity })),
    ...(doubt === undefined ? {} : { doubt }),
  }
}
