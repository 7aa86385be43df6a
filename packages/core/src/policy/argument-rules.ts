import { isDeeperThan, type Json, type JsonObject } from '../json/json.ts'
import { quoteText } from '../text/excerpt.ts'
import type { CompilePattern, TextPattern } from '../text/text-pattern.ts'
import { ALLOW, type RuleSource, type Verdict } from './decide.ts'
import { entriesOf, type FieldPath, readFieldPath, stepInto } from './field-path.ts'
import { compileFieldRule, type FieldCheck } from './field-rule.ts'
import type { ArgumentRules } from './tools-file.ts'

export interface ArgumentRuleOptions {
  readonly compilePattern: CompilePattern
  /** The source location of the rule for a field; without a field, that of `deny_patterns`. */
  readonly locateRule?: (field: string | undefined) => RuleSource | undefined
}

interface CompiledField {
  readonly name: string
  readonly path: FieldPath
  readonly required: boolean
  readonly checks: readonly FieldCheck[]
}

/** Compiles the argument rules of one tool. */
export function compileArgumentRules(
  rules: ArgumentRules,
  { compilePattern, locateRule = () => undefined }: ArgumentRuleOptions,
): (args: JsonObject) => Verdict {
  const fields = Object.entries(rules.fields).map(
    ([name, rule]): CompiledField => ({
      name,
      path: readFieldPath(name),
      required: rule.required === true,
      checks: compileFieldRule(rule, compilePattern),
    }),
  )
  const findDenied = compileDenyPatterns(rules.denyPatterns, compilePattern)
  return (args) => {
    for (const field of fields) {
      const problem = findFieldProblem(field, args)
      if (problem !== undefined) return denied(`The argument ${field.name} ${problem}.`, locateRule(field.name))
    }
    const problem = findDenied?.(args)
    return problem === undefined ? ALLOW : denied(`The arguments ${problem}.`, locateRule(undefined))
  }
}

function findFieldProblem({ path, required, checks }: CompiledField, args: JsonObject): string | undefined {
  if (required && !isGiven(args, path)) return 'is required'
  return findNestedProblem(args, path, checks)
}

/** The first problem of any value that the field may refer to. */
function findNestedProblem(
  value: Json | undefined,
  path: FieldPath,
  checks: readonly FieldCheck[],
): string | undefined {
  if (value === undefined) return undefined
  if (path.length === 0) return findFirstProblem(value, checks)
  for (const [key, member] of entriesOf(value)) {
    const rest = stepInto(path, key)
    const problem = rest && findNestedProblem(member, rest, checks)
    if (problem !== undefined) return problem
  }
  return undefined
}

function findFirstProblem(value: Json, checks: readonly FieldCheck[]): string | undefined {
  for (const check of checks) {
    const problem = check(value)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Whether a value is given under exactly this name; for `*`, in every item. */
function isGiven(value: Json | undefined, path: FieldPath): boolean {
  const [key, ...rest] = path
  if (key === undefined) return value !== undefined
  if (typeof value !== 'object' || value === null) return false
  if (key === '*') return entriesOf(value).every(([, item]) => isGiven(item, rest))
  if (Object.hasOwn(value, path.join('.'))) return true
  return Object.hasOwn(value, key) && isGiven((value as JsonObject)[key], rest)
}

const denied = (reason: string, rule: RuleSource | undefined): Verdict => ({
  outcome: 'deny',
  code: 'ARGUMENTS_FORBIDDEN',
  reason,
  ...(rule && { rule }),
})

const MAX_SHOWN_LENGTH = 60
const MAX_DEPTH = 128

/**
 * Searches the arguments for the patterns: in their JSON text, in each string by itself (without escapes), and in the
 * items of a list joined by spaces, as on a command line. `undefined` without patterns.
 */
function compileDenyPatterns(
  sources: readonly string[],
  compile: CompilePattern,
): ((args: JsonObject) => string | undefined) | undefined {
  if (sources.length === 0) return undefined
  const patterns: { readonly shown: string; readonly pattern: TextPattern }[] = []
  for (const source of sources) {
    const shown = quoteText(source, MAX_SHOWN_LENGTH)
    const pattern = compile(source)
    // It is unknown what the pattern would deny, so everything is denied.
    if (typeof pattern !== 'function') return () => `cannot be checked: deny_patterns has ${shown}: ${pattern.problem}`
    patterns.push({ shown, pattern })
  }
  return (args) => {
    if (isDeeperThan(args, MAX_DEPTH))
      return `are nested over ${MAX_DEPTH} levels deep and cannot be checked against deny_patterns`
    const json = JSON.stringify(args)
    const long = patterns.find(({ pattern }) => json.length > pattern.longest)
    if (long !== undefined) return `are too long to be checked against ${long.shown} of deny_patterns`
    const texts = [json, ...collectStrings(args)]
    const hit = patterns.find(({ pattern }) => texts.some(pattern))
    return hit && `match ${hit.shown} of deny_patterns`
  }
}

/** Every string, and the items of each list joined to one. Keys are covered by the JSON text. */
function collectStrings(args: Json): readonly string[] {
  const found: string[] = []
  const pending: (Json | undefined)[] = [args]
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value === 'string') found.push(value)
    if (typeof value !== 'object' || value === null) continue
    if (Array.isArray(value)) found.push(joined(value))
    for (const member of Object.values(value)) pending.push(member)
  }
  return found
}

const joined = (items: readonly Json[]): string => items.filter((item) => typeof item !== 'object').join(' ')
