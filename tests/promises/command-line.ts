import type { Promised } from './promised.ts'

export const COMMAND_LINE_PROMISES = {
  'CLI-1': {
    text: 'A tarball installs into an empty prefix, local, global and by npx, with npm 10 and 11, and every command runs',
    state: 'partial',
    missing: 'it is not in the registry, and hints print `sallyport …` however the user called it',
  },
} as const satisfies Readonly<Record<string, Promised>>
