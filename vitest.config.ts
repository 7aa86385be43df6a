import { configDefaults, defineConfig } from 'vitest/config'

/** Needs agent CLIs that are too large for every run: `npm run test:agents`. */
const AGENT_TESTS = 'tests/agents/{real-agents,planted-servers,hooks,large-results}.test.ts'
/** Each takes a minute or more, and a shorter test holds the part that breaks most easily. */
const LONG_TESTS = 'tests/full/**'

/** `npm run test:full` runs the long ones too. */
const isFull = process.env.SALLYPORT_TESTS === 'full'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'tests/**/*.test.ts', 'examples/*/tests/**/*.test.ts'],
    exclude: [...configDefaults.exclude, AGENT_TESTS, ...(isFull ? [] : [LONG_TESTS])],
    globalSetup: 'tests/leftovers.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Most tests wait for processes of their own: more workers than this and they wait for each other.
    maxWorkers: 2,
    retry: 0,
    allowOnly: false,
  },
})
