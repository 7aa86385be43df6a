import { compileNameGlob } from '../text/name-glob.ts'

/** Says whether a tool of a server is offered at all. */
export type Selection = (tool: string) => boolean

/** `include` undefined means all, an empty list none; what is excluded stays excluded. */
export function compileSelection(include: readonly string[] | undefined, exclude: readonly string[]): Selection {
  const included = include?.map(compileNameGlob)
  const excluded = exclude.map(compileNameGlob)
  return (tool) =>
    (included === undefined || included.some((matches) => matches(tool))) && !excluded.some((matches) => matches(tool))
}
