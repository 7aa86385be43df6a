import type { Mode } from '@sallyport/core'

/** What each mode allows, in one line. */
export const MODE_MEANINGS: Readonly<Record<Mode, string>> = {
  NORMAL: 'Every tool that its rules allow can be called.',
  ALERT: 'Something looks wrong: by default only tools of low risk can be called.',
  DEGRADED: 'Something is broken: by default no tools of high risk can be called.',
  LOCKDOWN: 'Only essential READ tools can be called, each with approval.',
  RECOVERY: 'Only READ tools can be called.',
}

/** How a person gets from LOCKDOWN back to work. */
export const LOCKDOWN_EXIT_HINT =
  'To go back: `sallyport mode RECOVERY --why "…"`, look around, then `sallyport mode NORMAL --why "…"`.'
