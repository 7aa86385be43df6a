import {
  type ArgumentRules,
  type PathWorld,
  pathPatternProblem,
  quoteText,
  type Ruled,
  type ToolPolicy,
} from '@sallyport/core'
import { compilePattern } from '../governance/governance.ts'

const SHOWN = 120

type FlawFinder<Value> = (value: Value) => readonly string[]

/** What stands in the rules of a tool and cannot be used, each with its place. Such rules refuse calls until they are mended. */
export function ruleFlaws(
  { allowedPaths, forbiddenPaths, ...policy }: ToolPolicy,
  world: PathWorld,
): readonly string[] {
  const unusable = (patterns: readonly string[], after: string): readonly string[] =>
    patterns.flatMap((pattern) => flawText(pattern, pathPatternProblem(pattern, world), after))
  return [
    ...placed('allowed_paths', allowedPaths, (patterns) => unusable(patterns, 'It allows nothing')),
    ...placed('forbidden_paths', forbiddenPaths, (patterns) => unusable(patterns, 'Every path is refused')),
    ...placed('arguments', policy.arguments, argumentFlaws),
  ]
}

function argumentFlaws({ fields, denyPatterns }: ArgumentRules): readonly string[] {
  const ofFields = Object.entries(fields).flatMap(([name, { pattern }]) =>
    pattern === undefined
      ? []
      : flawText(pattern, expressionProblem(pattern), `Every ${quoteText(name, SHOWN)} is refused`),
  )
  const denying = denyPatterns.flatMap((pattern) =>
    flawText(pattern, expressionProblem(pattern), 'Every call is refused'),
  )
  return [...ofFields, ...denying]
}

function expressionProblem(source: string): string | undefined {
  const compiled = compilePattern(source)
  return typeof compiled === 'function' ? undefined : compiled.problem
}

const flawText = (pattern: string, problem: string | undefined, after: string): readonly string[] =>
  problem === undefined ? [] : [`${quoteText(pattern, SHOWN)} cannot be used: ${problem}. ${after} until it is mended.`]

function placed<Value>(field: string, rules: readonly Ruled<Value>[], flawsIn: FlawFinder<Value>): readonly string[] {
  return rules.flatMap(({ value, rule }) =>
    flawsIn(value).map((flaw) => `${rule ? `${rule.file}:${rule.line}: ` : ''}${field}: ${flaw}`),
  )
}
