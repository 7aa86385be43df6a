/** A regular expression of linear time, compiled outside: this package has none of its own. */
export interface TextPattern {
  /** Whether it is found anywhere in the text. */
  (text: string): boolean
  /** No longer text can be judged in reasonable time. */
  readonly longest: number
}

export type CompilePattern = (source: string) => TextPattern | { readonly problem: string }
