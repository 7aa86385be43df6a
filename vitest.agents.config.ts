import { defineConfig } from 'vitest/config'

const isRecording = process.env.SALLYPORT_AGENTS_TASK === 'record'

/** For tests/agents/run.mjs: real agent CLIs, one after the other. */
export default defineConfig({
  test: {
    include: isRecording
      ? ['tests/agents/record-handshakes.ts', 'tests/agents/record-hooks.ts']
      : ['tests/agents/{real-agents,hooks,large-results,planted-servers,private-data}.test.ts'],
    globalSetup: 'tests/harness/leftovers.ts',
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    retry: 0,
    allowOnly: false,
  },
})
