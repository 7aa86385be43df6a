import { HIGHEST_SENSITIVITY, higherSensitivity, LOWEST_SENSITIVITY, type Sensitivity } from '@sallyport/core'

/** A dataset that a session has read, and its sensitivity. */
export interface PrivateDataset {
  readonly name: string
  readonly sensitivity: Sensitivity
}

/** The private data of a session. A label is never lowered. */
export interface Label {
  /** The highest sensitivity of the datasets; PUBLIC without any. With a `problem`, the highest possible one. */
  readonly sensitivity: Sensitivity
  /** Sorted by name. PUBLIC datasets are included, but do not make the session private. */
  readonly datasets: readonly PrivateDataset[]
  /** Why the label could not be read in full. Then the strictest sensitivity is assumed. */
  readonly problem?: string
}

export function createLabel(datasets: ReadonlyMap<string, Sensitivity>, problem?: string): Label {
  const sorted = [...datasets].sort(([a], [b]) => (a < b ? -1 : 1))
  const highestKnown = sorted.reduce<Sensitivity>(
    (highest, [, sensitivity]) => higherSensitivity(highest, sensitivity),
    LOWEST_SENSITIVITY,
  )
  return {
    sensitivity: problem === undefined ? highestKnown : HIGHEST_SENSITIVITY,
    datasets: sorted.map(([name, sensitivity]) => ({ name, sensitivity })),
    ...(problem === undefined ? {} : { problem }),
  }
}
