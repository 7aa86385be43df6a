/** One value to be checked, as it goes to the thread. Both are JSON texts: a copy of them is cheap, and theirs to parse. */
export interface CheckJob {
  readonly digest: string
  /** Those that need not be tried any more once one of them took too long: the digest, or for large values more than it. */
  readonly group: string
  readonly schema: string
  /** Absent: the schema is only compiled. */
  readonly value?: string
}

/** What became of it. */
export type JobOutcome =
  | { readonly kind: 'fits' }
  | { readonly kind: 'violated'; readonly says: string }
  /** The schema cannot be compiled, or not as a whole: the value is not known to fit. `final`: no part of it can. */
  | { readonly kind: 'unusable'; readonly why: string; readonly final?: boolean }
  /** It took more time or memory than one check may take. */
  | { readonly kind: 'excess'; readonly why: string }
  /** Another one took too long, and this would too. */
  | { readonly kind: 'hopeless' }
  /** It was never looked at. */
  | { readonly kind: 'unchecked'; readonly why: string }
  | { readonly kind: 'crowded' }

/** What the thread says of a job whose schema it had to compile, before it looks at the value. */
export const COMPILED = 'compiled'

/** What the thread says first, once it can take jobs. */
export const READY = 'ready'
