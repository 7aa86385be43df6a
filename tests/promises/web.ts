import type { Promised } from './promised.ts'

export const WEB_PROMISES = {
  'WEB-11': {
    text: 'A palette, keys with a list of them, addresses that are the state, light and dark, phones, WCAG AA, no mouse needed',
    state: 'built',
  },
  'WEB-12': {
    text: 'A login link that works once, a strict cookie, exact Origin and a header on writes, a content security policy without inline code, no external request',
    state: 'partial',
    missing: 'an approval that sends the hash of what was shown',
  },
  'WEB-14': {
    text: 'The first load is at most 180 kB compressed, and types come from the API’s own code',
    state: 'built',
  },
  'WEB-15': {
    text: 'The mode is on every screen, LOCKDOWN cannot be mistaken, and what needs a person is counted in the header, one click away',
    state: 'built',
  },
} as const satisfies Record<string, Promised>
