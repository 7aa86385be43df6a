/** An argument that holds a path, or that should and holds something else. */
export type FoundPath =
  /** `where` is as a person would write it: `edits[0].path`. */
  { readonly where: string; readonly value: string } | { readonly where: string; readonly problem: string }
