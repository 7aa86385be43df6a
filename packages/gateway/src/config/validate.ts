import { didYouMean } from '@sallyport/core'
import type { z } from 'zod'
import { quote } from './config-issue.ts'
import type { IssueLog } from './issue-log.ts'
import type { Normalised, Spot } from './normalise.ts'

/** Keys whose values may be secret even when they are written out in the file. */
const SECRET_KEYS: ReadonlySet<PropertyKey> = new Set([
  'args',
  'command',
  'env',
  'environment',
  'headers',
  'httpUrl',
  'jwksUri',
  'secret',
  'url',
])

/** The typed value, or nothing after every problem was logged at the place where it stands. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  normalised: Normalised,
  log: IssueLog,
): z.infer<Schema> | undefined {
  // Compiling the schema pays off after thousands of values; a config has dozens, and the start waits for it.
  const parsed = schema.safeParse(normalised.value, { jitless: true })
  if (parsed.success) return parsed.data
  for (const issue of parsed.error.issues) {
    const found = follow(normalised, issue.path)
    if (found.spot.origin === 'unresolved') continue
    log.error(found.spot, `expected ${issue.message}; got ${describeValue(found, issue.path)}.${guess(issue, found)}`)
  }
  return undefined
}

/** As far down the path as there is something in the file. */
function follow(normalised: Normalised, path: readonly PropertyKey[]): Normalised {
  let { value, spot }: { value: unknown; spot: Spot } = normalised
  for (const step of path) {
    const child = typeof step === 'symbol' ? undefined : spot.children.get(step)
    if (child === undefined) break
    spot = child
    value = (value as Record<PropertyKey, unknown>)[step]
  }
  return { value, spot }
}

function describeValue({ value, spot }: Normalised, path: readonly PropertyKey[]): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (value === '') return 'an empty text'
  if (spot.origin === 'variable') return 'something else from a variable'
  if (path.some((step) => SECRET_KEYS.has(step))) return typeof value === 'string' ? 'a text' : `a ${typeof value}`
  return typeof value === 'string' ? quote(value) : String(value)
}

function guess(issue: z.core.$ZodIssue, { value, spot }: Normalised): string {
  if (issue.code !== 'invalid_value' || typeof value !== 'string' || spot.origin !== 'written') return ''
  return didYouMean(value, issue.values.map(String))
}
