import { didYouMean, findClosest, isJsonObject, type PolicyFields, toCamelCase, toSnakeCase } from '@sallyport/core'
import { quote } from '../reading/config-issue.ts'
import { anything, type PathStep, type Schema, type SchemaIssue, type Shape } from '../reading/schema.ts'
import { policySchema } from './policy-schema.ts'

/** Something that is wrong in what a person wrote about a tool. */
export interface PolicyIssue {
  /** As it is written. */
  readonly path: readonly PathStep[]
  readonly problem: string
  /** A warning leaves the rest in force. */
  readonly severity: 'error' | 'warning'
  /** What is wrong with a key that was probably meant to isolate or restrict: its tools are refused. */
  readonly misspelt?: string
}

export interface PolicyResult {
  /** Only to be used when no issue is an error. */
  readonly fields: PolicyFields
  readonly issues: readonly PolicyIssue[]
}

/** Other words for what was got, where it may be secret. */
type DescribeValue = (path: readonly PathStep[]) => string | undefined

/** Reads the fields of one tool out of a plain value, with every key in either spelling. It does not throw. */
export function readPolicyFields(value: unknown, describe?: DescribeValue): PolicyResult {
  const issues: PolicyIssue[] = []
  const respelled = normalizeKeys({ value, path: [] }, policySchema, issues)
  const reading = policySchema.read(respelled)
  const misspelt = issues.find((issue) => issue.misspelt !== undefined)?.misspelt
  if (reading.ok) return { fields: { ...reading.value, ...(misspelt && { misspelt }) }, issues }
  for (const issue of reading.issues) {
    const { found, path } = findWritten(value, issue.path)
    const problem = `expected ${issue.expected}; got ${describe?.(path) ?? describeWritten(found)}.${suggestValue(issue, found)}`
    issues.push({ path, problem, severity: 'error' })
  }
  return { fields: {}, issues }
}

interface Located {
  readonly value: unknown
  readonly path: readonly PathStep[]
}

/** The same value with the keys of the schema in one spelling, and without those it does not have. */
function normalizeKeys({ value, path }: Located, part: Schema, issues: PolicyIssue[]): unknown {
  const known = part.unwrap?.() ?? part
  const { shape, member = anything } = known
  const inside = (step: PathStep, inner: unknown, of: Schema): unknown =>
    normalizeKeys({ value: inner, path: [...path, step] }, of, issues)
  // Also what keeps a value of any depth from being followed further down than the schema goes.
  if (shape === undefined && member === anything) return value
  if (Array.isArray(value)) return value.map((item, index) => inside(index, item, member))
  if (!isJsonObject(value)) return value
  if (shape === undefined)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inside(key, inner, member)]))
  const kept = new Map<string, unknown>()
  for (const [key, inner] of Object.entries(value)) {
    const spelled = toCamelCase(key)
    const of = Object.hasOwn(shape, spelled) ? shape[spelled] : undefined
    if (of === undefined) issues.push(unknownKeyIssue([...path, key], inner, { ...known, shape }))
    else if (kept.has(spelled)) issues.push(duplicateKeyIssue([...path, key]))
    else kept.set(spelled, inside(key, inner, of))
  }
  return Object.fromEntries(kept)
}

function unknownKeyIssue(
  path: readonly PathStep[],
  value: unknown,
  part: Schema & { readonly shape: Shape },
): PolicyIssue {
  const key = String(path.at(-1))
  const best = findClosest(key, Object.keys(part.shape))
  const spelled = best === undefined || /[A-Z]/.test(key) ? best : toSnakeCase(best)
  const suggestion = spelled === undefined ? '' : ` Did you mean "${spelled}"?`
  if (part.strict) return { path, problem: `this key is not known.${suggestion}`, severity: 'error' }
  const isRestricting = best !== undefined && part.restricting?.includes(best) && value !== null && value !== false
  if (!isRestricting)
    return { path, problem: `this key is not known and is ignored.${suggestion}`, severity: 'warning' }
  return {
    path,
    problem: `this key is not known.${suggestion} Calls are refused until it is corrected.`,
    severity: 'warning',
    misspelt: `the key ${quote(key)} is not known.${suggestion}`,
  }
}

const duplicateKeyIssue = (path: readonly PathStep[]): PolicyIssue => ({
  path,
  problem: 'the same key stands here in another spelling. Keep one of them.',
  severity: 'error',
})

/** What stands at a path of the schema, and the path as it is written. */
function findWritten(
  value: unknown,
  path: readonly PathStep[],
): { readonly found: unknown; readonly path: readonly PathStep[] } {
  let found = value
  const written: PathStep[] = []
  for (const step of path) {
    if (typeof found !== 'object' || found === null) break
    const key = Object.hasOwn(found, step) ? step : Object.keys(found).find((own) => toCamelCase(own) === step)
    if (key === undefined) break
    found = (found as Readonly<Record<PathStep, unknown>>)[key]
    written.push(key)
  }
  return { found, path: written }
}

function describeWritten(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (value === '') return 'an empty text'
  return typeof value === 'string' ? quote(value) : String(value)
}

const suggestValue = ({ candidates }: SchemaIssue, found: unknown): string =>
  candidates === undefined || typeof found !== 'string' ? '' : didYouMean(found, candidates)
