import { cutText } from '@sallyport/core'
import type { Exit } from '../processes/processes.ts'
import type { StderrTail } from '../stderr-tail.ts'

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

/** Why a program is gone: how it ended, and what it said last. */
export function describeLoss({ what, stderr, linesBefore, explain }: ProcessLoss): string {
  const meaning = explain?.(stderr.since(linesBefore))
  if (meaning !== undefined) return `${what}: ${meaning}`
  const lastLine = stderr.written > linesBefore ? stderr.lastLine() : undefined
  return lastLine === undefined ? what : cutText(`${what}: ${lastLine}`, REASON_LENGTH)
}

export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exited with code ${code}` : `was killed by ${signal}`
}
