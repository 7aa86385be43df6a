import { configDefaults, defineConfig } from 'vitest/config'

/** Needs agent CLIs that are too large for every run: `npm run test:agents`. */
const AGENT_TESTS = 'tests/agents/{real-agents,planted-servers,hooks,large-results,private-data}.test.ts'

/** What a run leaves out: `npm test` all that is long, `.ci/run` what installs from the registry, `npm run test:full` nothing. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  short: ['tests/full/**'],
  ci: ['tests/full/installed.test.ts'],
  full: [],
}
const leftOut = LEFT_OUT[process.env.SALLYPORT_TESTS ?? 'short'] ?? []

export default defineConfig({
  test: {
    globalSetup: 'tests/harness/leftovers.ts',
    // A busy machine is slow, which is not an error: what waits for an event waits as long as a test may take.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 50_000, interval: 20 } },
    pool: 'forks',
    // For two cores: most tests wait for processes of their own, and some for a clock.
    maxWorkers: 3,
    retry: 0,
    allowOnly: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: ['packages/*/src/**/*.test.ts'],
          // To load the modules anew for each of four hundred files takes longer than most of their tests.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'scenarios',
          include: ['tests/**/*.test.ts', 'examples/*/tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, AGENT_TESTS, ...leftOut],
        },
      },
    ],
  },
})
