import { type PolicyFields, snakeCase, type ToolEntry, unknownArgument } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { ToolProblem } from './tool-problems.ts'

interface RuledName extends Pick<ToolProblem, 'kind' | 'level'> {
  readonly name: string
  readonly field: 'pathArguments' | 'arguments'
}

/** What a tool's own entries say of arguments that it does not take: such a rule is about nothing, and nobody would notice. */
export function voidRules(
  { recordName: tool, original }: Offer,
  entries: readonly ToolEntry[],
  path: string,
): readonly ToolProblem[] {
  return entries.flatMap(({ fields, line, lines }) =>
    namesIn(fields).flatMap(({ kind, level, field, name }): readonly ToolProblem[] => {
      const flaw = unknownArgument(name, original.inputSchema)
      if (flaw === undefined) return []
      const problem = `${path}:${lines[field] ?? line}: ${snakeCase(field)}: ${tool}: ${flaw}`
      return [{ kind, level, tool, problem, fix: `See what it takes: sallyport tools show ${tool}` }]
    }),
  )
}

function namesIn({ pathArguments = [], arguments: rules }: PolicyFields): readonly RuledName[] {
  // Where these are named, nothing else is taken for a path: with a slip there are no path rules.
  const paths = pathArguments.map(
    (name) => ({ name, field: 'pathArguments', kind: 'invalid', level: 'wrong' }) as const,
  )
  // To forbid what no schema speaks of is no mistake.
  const ruled = Object.entries(rules?.fields ?? {}).filter(([, { forbidden }]) => !forbidden)
  return [...paths, ...ruled.map(([name]) => ({ name, field: 'arguments', kind: 'odd', level: 'warning' }) as const)]
}
