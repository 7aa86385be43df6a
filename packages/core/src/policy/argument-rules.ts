import { isDeeperThan, type Json, type JsonObject } from '../json/json.ts'
import { quoteText } from '../text/excerpt.ts'
import type { CompilePattern, TextPattern } from '../text/text-pattern.ts'
import { ALLOW, type RuleSource, type Verdict } from './decide.ts'
import { entriesOf, type FieldPath, readFieldPath, stepInto } from './field-path.ts'
import { compileFieldRule, type FieldCheck } from './field-rule.ts'
import type { ArgumentRules } from './tools-file.ts'

export interface ArgumentRuleOptions {
  readonly compilePattern: CompilePattern
  /** Where the rule of a field stands; without a field, where `deny_patterns` does. */
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
  const denying = compileDenyPatterns(rules.denyPatterns, compilePattern)
  return (args) => {
    for (const field of fields) {
      const flaw = findFieldProblem(field, args)
      if (flaw !== undefined) return denied(`The argument ${field.name} ${flaw}.`, locateRule(field.name))
    }
    const flaw = denying?.(args)
    return flaw === undefined ? ALLOW : denied(`The arguments ${flaw}.`, locateRule(undefined))
  }
}

function findFieldProblem({ path, required, checks }: CompiledField, args: JsonObject): string | undefined {
  if (required && !isGiven(args, path)) return 'is required'
  return findNestedProblem(args, path, checks)
}

/** The first flaw of any value that the field may mean. */
function findNestedProblem(
  value: Json | undefined,
  path: FieldPath,
  checks: readonly FieldCheck[],
): string | undefined {
  if (value === undefined) return undefined
  if (path.length === 0) return findFirstProblem(value, checks)
  for (const [key, member] of entriesOf(value)) {
    const rest = stepInto(path, key)
    const flaw = rest && findNestedProblem(member, rest, checks)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function findFirstProblem(value: Json, checks: readonly FieldCheck[]): string | undefined {
  for (const check of checks) {
    const flaw = check(value)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

/** Whether it is there under exactly this name, with `*` in every item. */
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
 * Tells whether one of the patterns is found in the arguments: in their JSON text, in each text by itself (where nothing
 * is escaped), and in the texts of a list in a row, as a command line would have them. Undefined without patterns.
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
    // What it would deny cannot be told, so it may be anything.
    if (typeof pattern !== 'function') return () => `cannot be judged: deny_patterns has ${shown}: ${pattern.problem}`
    patterns.push({ shown, pattern })
  }
  return (args) => {
    if (isDeeperThan(args, MAX_DEPTH))
      return `are nested over ${MAX_DEPTH} levels deep and cannot be judged by deny_patterns`
    const json = JSON.stringify(args)
    const long = patterns.find(({ pattern }) => json.length > pattern.longest)
    if (long !== undefined) return `are too long to be judged by ${long.shown} of deny_patterns`
    const texts = [json, ...collectStrings(args)]
    const hit = patterns.find(({ pattern }) => texts.some(pattern))
    return hit && `hold what ${hit.shown} of deny_patterns refuses`
  }
}

/** Every text within, and those of each list once more as one. Keys are in the JSON text. */
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
