import { didYouMean } from '@sallyport/core'
import { quote } from './config-issue.ts'
import type { IssueLog } from './issue-log.ts'
import type { Normalised, Spot } from './normalise.ts'
import type { Part, PartIssue, Step } from './schema.ts'

/** Keys whose values may be secret even when they are written out in the file. */
const SECRET_KEYS: ReadonlySet<Step> = new Set([
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
export function validate<Value>(part: Part<Value>, normalised: Normalised, log: IssueLog): Value | undefined {
  const reading = part.read(normalised.value)
  if (reading.ok) return reading.value
  for (const issue of reading.issues) {
    const found = follow(normalised, issue.path)
    if (found.spot.origin === 'unresolved') continue
    log.error(found.spot, `expected ${issue.expected}; got ${describeValue(found, issue.path)}.${guess(issue, found)}`)
  }
  return undefined
}

/** As far down the path as there is something in the file. */
function follow(normalised: Normalised, path: readonly Step[]): Normalised {
  let { value, spot }: { value: unknown; spot: Spot } = normalised
  for (const step of path) {
    const child = spot.children.get(step)
    if (child === undefined) break
    spot = child
    value = (value as Readonly<Record<Step, unknown>>)[step]
  }
  return { value, spot }
}

function describeValue({ value, spot }: Normalised, path: readonly Step[]): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (value === '') return 'an empty text'
  if (spot.origin === 'variable') return 'something else from a variable'
  if (path.some((step) => SECRET_KEYS.has(step))) return typeof value === 'string' ? 'a text' : `a ${typeof value}`
  return typeof value === 'string' ? quote(value) : String(value)
}

function guess({ candidates }: PartIssue, { value, spot }: Normalised): string {
  if (candidates === undefined || typeof value !== 'string' || spot.origin !== 'written') return ''
  return didYouMean(value, candidates)
}
