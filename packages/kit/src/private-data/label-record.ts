import { createHash } from 'node:crypto'
import { isSensitivity, type Sensitivity } from '@sallyport/core'
import type { PrivateDataset } from './label.ts'

export const MAX_NAME_LENGTH = 16_384
/** JSON writes a character with at most six bytes for each of its units, and two quotes around all. */
export const MAX_RECORD_BYTES = 6 * MAX_NAME_LENGTH + 2

/**
 * One statement as a file: its name says how sensitive the dataset is, and proves what its text must be. So a listing
 * alone tells the sensitivity, and no text, whatever it holds, is part of a path.
 */
const RECORD_NAME = /^([a-z]+)-([0-9a-f]{64})$/

export const recordFileName = ({ name, sensitivity }: PrivateDataset): string =>
  `${sensitivity.toLowerCase()}-${createHash('sha256').update(recordText(name)).digest('hex')}`

/** JSON writes a lone surrogate as an escape, where UTF-8 would make two names one. */
export const recordText = (dataset: string): string => JSON.stringify(dataset)

export function readRecordSensitivity(file: string): Sensitivity | undefined {
  const sensitivity = RECORD_NAME.exec(file)?.[1]?.toUpperCase()
  return isSensitivity(sensitivity) ? sensitivity : undefined
}

/** The dataset that a file is about; nothing when its text is not what its name proves. */
export function readRecord(file: string, text: string): PrivateDataset | undefined {
  const sensitivity = readRecordSensitivity(file)
  const name = parseString(text)
  if (sensitivity === undefined || name === undefined) return undefined
  return recordFileName({ name, sensitivity }) === file ? { name, sensitivity } : undefined
}

function parseString(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
