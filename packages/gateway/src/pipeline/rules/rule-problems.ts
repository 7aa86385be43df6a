import {
  type ArgumentRules,
  checkPathPattern,
  type PathContext,
  type PolicyValue,
  quoteText,
  type ToolPolicy,
} from '@sallyport/core'
import { compilePattern } from '../../governance/governance.ts'

const SHOWN = 120

type ProblemFinder<Value> = (value: Value) => readonly string[]

/** The invalid rules of a tool, each with its source location. Such rules refuse calls until they are corrected. */
export function findRuleProblems(
  { allowedPaths, forbiddenPaths, ...policy }: ToolPolicy,
  world: PathContext,
): readonly string[] {
  const unusable = (patterns: readonly string[], after: string): readonly string[] =>
    patterns.flatMap((pattern) => formatProblem(pattern, checkPathPattern(pattern, world), after))
  return [
    ...withLocation('allowed_paths', allowedPaths, (patterns) => unusable(patterns, 'It allows nothing')),
    ...withLocation('forbidden_paths', forbiddenPaths, (patterns) => unusable(patterns, 'Every path is refused')),
    ...withLocation('arguments', policy.arguments, findArgumentProblems),
  ]
}

function findArgumentProblems({ fields, denyPatterns }: ArgumentRules): readonly string[] {
  const ofFields = Object.entries(fields).flatMap(([name, { pattern }]) =>
    pattern === undefined
      ? []
      : formatProblem(pattern, expressionProblem(pattern), `Every ${quoteText(name, SHOWN)} is refused`),
  )
  const denying = denyPatterns.flatMap((pattern) =>
    formatProblem(pattern, expressionProblem(pattern), 'Every call is refused'),
  )
  return [...ofFields, ...denying]
}

function expressionProblem(source: string): string | undefined {
  const compiled = compilePattern(source)
  return typeof compiled === 'function' ? undefined : compiled.problem
}

const formatProblem = (pattern: string, problem: string | undefined, after: string): readonly string[] =>
  problem === undefined
    ? []
    : [`${quoteText(pattern, SHOWN)} cannot be used: ${problem}. ${after} until it is corrected.`]

function withLocation<Value>(
  field: string,
  rules: readonly PolicyValue<Value>[],
  findProblems: ProblemFinder<Value>,
): readonly string[] {
  return rules.flatMap(({ value, rule }) =>
    findProblems(value).map((problem) => `${rule ? `${rule.file}:${rule.line}: ` : ''}${field}: ${problem}`),
  )
}
