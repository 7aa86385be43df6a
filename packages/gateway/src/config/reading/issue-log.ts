import type { ConfigIssue } from './config-issue.ts'
import type { TextPosition } from './located-tree.ts'

/** A key of the file, for an issue to point at. */
export interface KeyLocation {
  readonly offset: number
  /** The key path as written in the file. */
  readonly key: string
}

/** Collects all errors and warnings, so that one run shows all of them. */
export interface IssueLog {
  readonly errors: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
  error(subject: KeyLocation, problem: string): void
  warn(subject: KeyLocation, problem: string): void
  lineOf(subject: KeyLocation): number
}

export function createIssueLog(file: string, positionOf: (offset: number) => TextPosition): IssueLog {
  const errors: ConfigIssue[] = []
  const warnings: ConfigIssue[] = []
  const issue = (subject: KeyLocation, problem: string): ConfigIssue => {
    const { line, column } = positionOf(subject.offset)
    return { file, line, column, key: subject.key, problem }
  }
  return {
    errors,
    warnings,
    error: (subject, problem) => void errors.push(issue(subject, problem)),
    warn: (subject, problem) => void warnings.push(issue(subject, problem)),
    lineOf: (subject) => positionOf(subject.offset).line,
  }
}
