/** A regular expression that runs in linear time. The caller provides it: this package has no such engine. */
export interface TextPattern {
  /** Whether it matches anywhere in the text. */
  (text: string): boolean
  /** The maximum length of a text that can be checked in reasonable time. */
  readonly longest: number
}

export type CompilePattern = (source: string) => TextPattern | { readonly problem: string }
