import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

const { mutate } = JSON.parse(readFileSync(new URL('stryker.config.json', import.meta.url), 'utf8')) as {
  readonly mutate: readonly string[]
}

/** For `npm run mutation`: a changed rule has to be noticed by the tests that stand beside the rules. */
export default defineConfig({
  test: {
    include: mutate.map((file) => file.replace(/\.ts$/, '.test.ts')),
    // Each rule is slower by what counts its tests.
    testNamePattern: /^(?!.*(?:stay quick|in a time that nobody notices))/,
    testTimeout: 60_000,
  },
})
