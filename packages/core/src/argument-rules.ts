import { ALLOW, type RuleSource, type Verdict } from './decide.ts'
import { compileDenyPatterns } from './deny-patterns.ts'
import { entriesOf, type FieldPath, readFieldPath, stepInto } from './field-path.ts'
import { compileFieldRule, type FieldCheck } from './field-rule.ts'
import type { Json, JsonObject } from './json/json.ts'
import type { CompilePattern } from './text-pattern.ts'
import type { ArgumentRules } from './tool-policy.ts'

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
