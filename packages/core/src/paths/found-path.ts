/** An argument that contains a path, or that should contain one but does not. */
export type FoundPath =
  /** `where` is the argument as a person would write it: `edits[0].path`. */
  { readonly where: string; readonly value: string } | { readonly where: string; readonly problem: string }
