import { basename } from 'node:path'
import { quoteText } from '@sallyport/core'

/** An error or a warning about the config file. It never contains the value of a variable. */
export interface ConfigIssue {
  readonly file: string
  /** Line and column start at 1; they are 0 for an issue about the whole file. */
  readonly line: number
  readonly column: number
  /** The key path as written in the file; empty for the whole file. */
  readonly key: string
  readonly problem: string
}

/** `config.yaml:12:5 mcp_servers.db.args: expected …` */
export function describeIssue(issue: ConfigIssue): string {
  const position = issue.line === 0 ? '' : `:${issue.line}:${issue.column}`
  const key = issue.key === '' ? '' : ` ${issue.key}`
  return `${basename(issue.file)}${position}${key}: ${issue.problem}`
}

const MAX_SHOWN = 60

export const quote = (text: string): string => quoteText(text, MAX_SHOWN)

/** Appends one step to a key path. */
export function joinKey(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`
  if (!/^[\w$-]+$/.test(step)) return `${path}[${quote(step)}]`
  return path === '' ? step : `${path}.${step}`
}
