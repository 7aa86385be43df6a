/** One value to be checked, as it goes to the thread. Both are JSON texts: a copy of them is cheap, and theirs to parse. */
export interface Job {
  readonly digest: string
  /** Those that need not be tried any more once one of them took too long: the digest, or for large values more than it. */
  readonly fate: string
  readonly schema: string
  readonly value: string
}

/** What became of it. */
export type Outcome =
  | { readonly kind: 'fits' }
  | { readonly kind: 'violated'; readonly says: string }
  /** The schema says nothing that can be held to. */
  | { readonly kind: 'unusable'; readonly why: string }
  /** It took more time or memory than one check may take. */
  | { readonly kind: 'excess'; readonly why: string }
  /** Another one took too long, and this would too. */
  | { readonly kind: 'hopeless' }
  /** It was never looked at. */
  | { readonly kind: 'unchecked'; readonly why: string }
  | { readonly kind: 'crowded' }

/** What the thread says first, once it can take jobs. */
export const READY = 'ready'
