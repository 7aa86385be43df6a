import { cutText } from '@sallyport/core'
import type { Exit } from '../processes/processes.ts'
import type { StderrTail } from '../stderr-tail.ts'
import { findErrorSummaryLine } from './telling-line.ts'

/** What the last words of a program mean, and what to do; nothing where they are not known. */
export type Explain = (said: readonly string[]) => string | undefined

export interface ProcessLoss {
  readonly what: string
  readonly stderr: StderrTail
  /** How many lines others had written before it began. */
  readonly linesBefore: number
  readonly explain?: Explain | undefined
}

const REASON_LENGTH = 300

/** Why a program is gone: how it ended, and what it said of that. */
export function describeLoss({ what, stderr, linesBefore, explain }: ProcessLoss): string {
  const said = stderr.since(linesBefore)
  const meaning = explain?.(said)
  if (meaning !== undefined) return `${what}: ${meaning}`
  const line = findErrorSummaryLine(said)
  return line === undefined ? what : cutText(`${what}: ${line.trim().replace(/\.$/, '')}`, REASON_LENGTH)
}

export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exited with code ${code}` : `was killed by ${signal}`
}
