import type { Promised } from './promised.ts'

export const COMMAND_LINE_PROMISES = {
  'CLI-1': {
    text: 'A tarball installs into an empty prefix, local, global and by npx, with npm 10 and 11, and every command runs',
    state: 'partial',
    missing: 'it is not in the registry, and hints print `sallyport …` however the user called it',
  },
  'CLI-4': {
    text: 'Servers are added, removed, enabled, disabled and restarted by commands, which show the change of config.yaml and keep its comments; servers logs shows what one writes',
    state: 'partial',
    missing: 'the login of servers',
  },
} as const satisfies Readonly<Record<string, Promised>>
