import {
  checkArgumentName,
  type PolicyFields,
  quoteForShell,
  type ToolEntry,
  type ToolPolicy,
  takesPath,
  toSnakeCase,
} from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import type { ToolProblem } from './tool-problems.ts'

interface RuledName extends Pick<ToolProblem, 'kind' | 'level'> {
  readonly name: string
  readonly field: 'pathArguments' | 'arguments'
}

export interface OwnEntries {
  /** Those that are about the tool alone. */
  readonly own: readonly ToolEntry[]
  readonly policy: ToolPolicy
  /** Of the file that they stand in. */
  readonly path: string
}

/** What a tool's own entries say of arguments that it does not take: such a rule is about nothing, and nobody would notice. */
export const findUnmatchedRules = (offer: Offer, entries: OwnEntries): readonly ToolProblem[] => [
  ...unknownNames(offer, entries),
  ...findUnusedPathRules(offer, entries),
]

function unknownNames({ recordName: tool, original }: Offer, { own, path }: OwnEntries): readonly ToolProblem[] {
  return own.flatMap(({ fields, line, lines }) =>
    namesIn(fields).flatMap(({ kind, level, field, name }): readonly ToolProblem[] => {
      const flaw = checkArgumentName(name, original.inputSchema)
      if (flaw === undefined) return []
      const problem = `${path}:${lines[field] ?? line}: ${toSnakeCase(field)}: ${tool}: ${flaw}`
      return [{ kind, level, tool, problem, fix: `See what it takes: sallyport tools show ${quoteForShell(tool)}` }]
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

/** Path rules of a tool none of whose arguments is taken for a path. */
function findUnusedPathRules(
  { recordName: tool, original }: Offer,
  { own, policy, path }: OwnEntries,
): readonly ToolProblem[] {
  const fences = own.flatMap(({ fields, line, lines }) => {
    const field = findPathRule(fields)
    return field === undefined ? [] : [`${path}:${lines[field] ?? line}: ${toSnakeCase(field)}`]
  })
  if (fences.length === 0 || policy.pathArguments !== undefined || takesPath(original.inputSchema)) return []
  return fences.map((where) => ({
    ...{ kind: 'odd', level: 'warning', tool },
    problem: `${where}: ${tool}: none of its arguments is taken for a path, so that this holds it to nothing.`,
    fix: 'Name those that hold paths in path_arguments.',
  }))
}

function findPathRule({
  allowedPaths,
  forbiddenPaths = [],
}: PolicyFields): 'allowedPaths' | 'forbiddenPaths' | undefined {
  if (allowedPaths !== undefined) return 'allowedPaths'
  return forbiddenPaths.length > 0 ? 'forbiddenPaths' : undefined
}
