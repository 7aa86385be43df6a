import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'tests/**/*.test.ts', 'examples/*/tests/**/*.test.ts'],
    // Needs agent CLIs that are too large for every run: `npm run test:agents`.
    exclude: [...configDefaults.exclude, 'tests/agents/{real-agents,hooks,large-results}.test.ts'],
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
