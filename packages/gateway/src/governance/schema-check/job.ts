/** One value to check. Schema and value are JSON strings: copying them to the thread is cheap, and the thread parses them. */
export interface CheckJob {
  readonly digest: string
  /** If a job takes too long, waiting jobs of the same group are not tried. It is the digest, with a suffix for large values. */
  readonly group: string
  readonly schema: string
  /** Absent: the schema is only compiled. */
  readonly value?: string
}

/** The result of a job. */
export type JobOutcome =
  | { readonly kind: 'fits' }
  | { readonly kind: 'violated'; readonly message: string }
  /** The schema cannot be compiled completely, so it is not known whether the value fits. `final`: no part can be compiled. */
  | { readonly kind: 'unusable'; readonly why: string; readonly final?: boolean }
  /** The check took too much time or memory. */
  | { readonly kind: 'excess'; readonly why: string }
  /** A job of the same group took too long, so this one was not tried. */
  | { readonly kind: 'hopeless' }
  /** The value was not checked. */
  | { readonly kind: 'unchecked'; readonly why: string }
  /** Too many jobs are waiting. */
  | { readonly kind: 'crowded' }

/** The thread sends this after it compiled the schema of a job and before it checks the value. */
export const COMPILED = 'compiled'

/** The thread sends this first, when it is ready for jobs. */
export const READY = 'ready'
