/** What was answered to a request for approval, in words. */
export const APPROVAL_OUTCOMES = {
  deny: 'refused',
  once: 'approved once',
  session: 'approved for the session',
  always: 'approved for good',
} as const

/** What became of an `always` that could not be written. */
export const formatUnwrittenRule = (why: string | undefined): string =>
  why === undefined ? '' : `; it was to be for good, but the rule was not written: ${why}`
