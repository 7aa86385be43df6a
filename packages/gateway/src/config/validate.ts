import { didYouMean } from '@sallyport/core'
import { quote } from './config-issue.ts'
import type { IssueLog } from './issue-log.ts'
import type { ConfigNode, Normalized } from './normalise.ts'
import type { PathStep, Schema, SchemaIssue } from './schema.ts'

/** Keys whose values may be secret even when they are written out in the file. */
const SECRET_KEYS: ReadonlySet<PathStep> = new Set([
  'args',
  'command',
  'endpoint',
  'env',
  'environment',
  'extraArgs',
  'headers',
  'httpUrl',
  'interceptors',
  'jwksUri',
  'otlp',
  'secret',
  'url',
])

/** The typed value, or nothing after every problem was logged at the place where it stands. */
export function validate<Value>(part: Schema<Value>, normalised: Normalized, log: IssueLog): Value | undefined {
  const reading = part.read(normalised.value)
  if (reading.ok) return reading.value
  for (const issue of reading.issues) {
    const found = findDeepest(normalised, issue.path)
    if (found.node.origin === 'unresolved') continue
    log.error(
      found.node,
      `expected ${issue.expected}; got ${describeValue(found, issue.path)}.${suggestValue(issue, found)}`,
    )
  }
  return undefined
}

/** As far down the path as there is something in the file. */
function findDeepest(normalised: Normalized, path: readonly PathStep[]): Normalized {
  let { value, node }: { value: unknown; node: ConfigNode } = normalised
  for (const step of path) {
    const child = node.children.get(step)
    if (child === undefined) break
    node = child
    value = (value as Readonly<Record<PathStep, unknown>>)[step]
  }
  return { value, node }
}

function describeValue({ value, node }: Normalized, path: readonly PathStep[]): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (value === '') return 'an empty text'
  if (node.origin === 'variable') return 'something else from a variable'
  if (path.some((step) => SECRET_KEYS.has(step))) return typeof value === 'string' ? 'a text' : `a ${typeof value}`
  return typeof value === 'string' ? quote(value) : String(value)
}

function suggestValue({ candidates }: SchemaIssue, { value, node }: Normalized): string {
  if (candidates === undefined || typeof value !== 'string' || node.origin !== 'written') return ''
  return didYouMean(value, candidates)
}
