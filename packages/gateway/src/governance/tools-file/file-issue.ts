import { lineAt, lineStart, type TextLines } from './text-lines.ts'

/** An error or a warning about the file. Line and column start at 1. */
export interface FileIssue {
  readonly line: number
  readonly column: number
  readonly problem: string
}

export function createFileIssue(source: TextLines, offset: number, problem: string): FileIssue {
  const line = lineAt(source, offset)
  return { line: line + 1, column: Math.max(0, offset - lineStart(source, line)) + 1, problem }
}

/** All errors and warnings, in the order in which they were found. */
export interface FileIssueLog {
  readonly errors: readonly FileIssue[]
  readonly warnings: readonly FileIssue[]
  error(offset: number, problem: string): void
  warn(offset: number, problem: string): void
}

export function createFileIssueLog(source: TextLines): FileIssueLog {
  const errors: FileIssue[] = []
  const warnings: FileIssue[] = []
  return {
    errors,
    warnings,
    error: (offset, problem) => void errors.push(createFileIssue(source, offset, problem)),
    warn: (offset, problem) => void warnings.push(createFileIssue(source, offset, problem)),
  }
}
