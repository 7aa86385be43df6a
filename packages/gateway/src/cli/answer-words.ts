/** What was answered to a request for approval, in words. */
export const ANSWER_WORDS = {
  deny: 'refused',
  once: 'approved once',
  session: 'approved for the session',
  always: 'approved for good',
} as const
