import { compileNameGlob } from '../text/name-glob.ts'

/** Whether a tool of a server is offered. */
export type Selection = (tool: string) => boolean

/** If `include` is `undefined`, all tools are included; if it is empty, none. `exclude` takes precedence. */
export function compileSelection(include: readonly string[] | undefined, exclude: readonly string[]): Selection {
  const included = include?.map(compileNameGlob)
  const excluded = exclude.map(compileNameGlob)
  return (tool) =>
    (included === undefined || included.some((matches) => matches(tool))) && !excluded.some((matches) => matches(tool))
}
