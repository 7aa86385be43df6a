import { basename } from 'node:path'
import { quoteText } from '@sallyport/core'

/** One thing that is wrong, or only odd, in the config file. It never holds the value of a variable. */
export interface ConfigIssue {
  readonly file: string
  /** Line and column count from 1; 0 when it is about the file as a whole. */
  readonly line: number
  readonly column: number
  /** The key path as it is written in the file; empty for the file as a whole. */
  readonly key: string
  readonly problem: string
}

/** `config.yaml:12:5 mcp_servers.db.args: expected …` */
export function describeIssue(issue: ConfigIssue): string {
  const place = issue.line === 0 ? '' : `:${issue.line}:${issue.column}`
  const key = issue.key === '' ? '' : ` ${issue.key}`
  return `${basename(issue.file)}${place}${key}: ${issue.problem}`
}

const MAX_SHOWN = 60

export const quote = (text: string): string => quoteText(text, MAX_SHOWN)

/** A key path with one more step. */
export function joinKey(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`
  if (!/^[\w$-]+$/.test(step)) return `${path}[${quote(step)}]`
  return path === '' ? step : `${path}.${step}`
}
