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
  /** The entries that are about this tool only. */
  readonly own: readonly ToolEntry[]
  readonly policy: ToolPolicy
  /** The path of the file that contains them. */
  readonly path: string
}

/** Finds rules for arguments that the tool does not have: such a rule has no effect, and nobody would notice. */
export const findUnmatchedRules = (offer: Offer, entries: OwnEntries): readonly ToolProblem[] => [
  ...unknownNames(offer, entries),
  ...findUnusedPathRules(offer, entries),
]

function unknownNames({ recordName: tool, original }: Offer, { own, path }: OwnEntries): readonly ToolProblem[] {
  return own.flatMap(({ fields, line, lines }) =>
    namesIn(fields).flatMap(({ kind, level, field, name }): readonly ToolProblem[] => {
      const invalid = checkArgumentName(name, original.inputSchema)
      if (invalid === undefined) return []
      const problem = `${path}:${lines[field] ?? line}: ${toSnakeCase(field)}: ${tool}: ${invalid}`
      return [{ kind, level, tool, problem, fix: `See what it takes: sallyport tools show ${quoteForShell(tool)}` }]
    }),
  )
}

function namesIn({ pathArguments = [], arguments: rules }: PolicyFields): readonly RuledName[] {
  // If these are named, no other argument is treated as a path: with a misspelt name there are no path rules.
  const paths = pathArguments.map(
    (name) => ({ name, field: 'pathArguments', kind: 'invalid', level: 'wrong' }) as const,
  )
  // It is valid to forbid an argument that is not in the schema.
  const ruled = Object.entries(rules?.fields ?? {}).filter(([, { forbidden }]) => !forbidden)
  return [
    ...paths,
    ...ruled.map(([name]) => ({ name, field: 'arguments', kind: 'no-effect', level: 'warning' }) as const),
  ]
}

/** Finds path rules of a tool whose arguments are never treated as paths. */
function findUnusedPathRules(
  { recordName: tool, original }: Offer,
  { own, policy, path }: OwnEntries,
): readonly ToolProblem[] {
  const pathRules = own.flatMap(({ fields, line, lines }) => {
    const field = findPathRule(fields)
    return field === undefined ? [] : [`${path}:${lines[field] ?? line}: ${toSnakeCase(field)}`]
  })
  if (pathRules.length === 0 || policy.pathArguments !== undefined || takesPath(original.inputSchema)) return []
  return pathRules.map((where) => ({
    ...{ kind: 'no-effect', level: 'warning', tool },
    problem: `${where}: ${tool}: none of its arguments is treated as a path, so this rule has no effect.`,
    fix: 'List the arguments that hold paths in path_arguments.',
  }))
}

function findPathRule({
  allowedPaths,
  forbiddenPaths = [],
}: PolicyFields): 'allowedPaths' | 'forbiddenPaths' | undefined {
  if (allowedPaths !== undefined) return 'allowedPaths'
  return forbiddenPaths.length > 0 ? 'forbiddenPaths' : undefined
}
