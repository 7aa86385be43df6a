import { type LinedText, lineAt, startOf } from './lined-text.ts'

/** Something in the file that a person should look at. Line and column count from 1. */
export interface FileIssue {
  readonly line: number
  readonly column: number
  readonly problem: string
}

export function issueAt(source: LinedText, offset: number, problem: string): FileIssue {
  const line = lineAt(source, offset)
  return { line: line + 1, column: Math.max(0, offset - startOf(source, line)) + 1, problem }
}

/** Everything that is wrong, and everything that is only odd, in the order in which it was found. */
export interface IssueLog {
  readonly errors: readonly FileIssue[]
  readonly warnings: readonly FileIssue[]
  error(offset: number, problem: string): void
  warn(offset: number, problem: string): void
}

export function createIssueLog(source: LinedText): IssueLog {
  const errors: FileIssue[] = []
  const warnings: FileIssue[] = []
  return {
    errors,
    warnings,
    error: (offset, problem) => void errors.push(issueAt(source, offset, problem)),
    warn: (offset, problem) => void warnings.push(issueAt(source, offset, problem)),
  }
}
