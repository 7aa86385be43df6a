import { didYouMean, findClosest, isJsonObject, type PolicyFields, toCamelCase, toSnakeCase } from '@sallyport/core'
import { quote } from '../reading/config-issue.ts'
import { anything, type PathStep, type Schema, type SchemaIssue, type Shape } from '../reading/schema.ts'
import { policySchema } from './policy-schema.ts'

/** An error or a warning about the fields of a tool. */
export interface PolicyIssue {
  /** The keys as written in the file. */
  readonly path: readonly PathStep[]
  readonly problem: string
  /** With a warning, the other fields stay in force. */
  readonly severity: 'error' | 'warning'
  /** Set if a misspelt key was probably meant to isolate or restrict. Calls of its tools are refused. */
  readonly misspelt?: string
}

export interface PolicyResult {
  /** Only to be used when no issue is an error. */
  readonly fields: PolicyFields
  readonly issues: readonly PolicyIssue[]
}

/** Describes a value that may be secret; `undefined` if the value may be shown. */
type DescribeValue = (path: readonly PathStep[]) => string | undefined

/** Reads the fields of one tool from a plain value. Keys may have either spelling. It does not throw. */
export function readPolicyFields(value: unknown, describe?: DescribeValue): PolicyResult {
  const issues: PolicyIssue[] = []
  const normalized = normalizeKeys({ value, path: [] }, policySchema, issues)
  const reading = policySchema.read(normalized)
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

/** The same value with all keys in one spelling, and without unknown keys. */
function normalizeKeys({ value, path }: Located, part: Schema, issues: PolicyIssue[]): unknown {
  const known = part.unwrap?.() ?? part
  const { shape, member = anything } = known
  const inside = (step: PathStep, inner: unknown, of: Schema): unknown =>
    normalizeKeys({ value: inner, path: [...path, step] }, of, issues)
  // This also stops the recursion where the schema ends, however deep the value is.
  if (shape === undefined && member === anything) return value
  if (Array.isArray(value)) return value.map((item, index) => inside(index, item, member))
  if (!isJsonObject(value)) return value
  if (shape === undefined)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inside(key, inner, member)]))
  const normalized = new Map<string, unknown>()
  for (const [key, inner] of Object.entries(value)) {
    const spelled = toCamelCase(key)
    const of = Object.hasOwn(shape, spelled) ? shape[spelled] : undefined
    if (of === undefined) issues.push(unknownKeyIssue([...path, key], inner, { ...known, shape }))
    else if (normalized.has(spelled)) issues.push(duplicateKeyIssue([...path, key]))
    else normalized.set(spelled, inside(key, inner, of))
  }
  return Object.fromEntries(normalized)
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
  problem: 'the same key is also here in another spelling. Keep one of them.',
  severity: 'error',
})

/** The value at a path of the schema, and the path as written in the file. */
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
  if (value === '') return 'an empty string'
  return typeof value === 'string' ? quote(value) : String(value)
}

const suggestValue = ({ candidates }: SchemaIssue, found: unknown): string =>
  candidates === undefined || typeof found !== 'string' ? '' : didYouMean(found, candidates)
