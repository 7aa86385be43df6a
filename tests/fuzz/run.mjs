/**
 * Runs the fuzz suites (tests/fuzz/*.fuzz.ts), prints for each its cases, seconds and findings, and exits with 1 if there is
 * a finding.
 *
 *   npm run fuzz [-- name …] [--cases 100000] [--seed S]
 */
import { randomInt } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createViteServer } from 'vitest/node'

const ENDING = '.fuzz.ts'
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ALL = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith(ENDING))
  .map((file) => file.slice(0, -ENDING.length))

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { cases: { type: 'string', default: '100000' }, seed: { type: 'string' } },
})
const cases = readInteger('--cases', values.cases)
const seed = values.seed === undefined ? randomInt(2 ** 31) : readInteger('--seed', values.seed)
for (const name of positionals)
  if (!ALL.includes(name)) stop(`Unknown fuzz suite: ${name}. Expected one of: ${ALL.join(', ')}.`)

// Node 20 does not run TypeScript by itself.
const vite = await createViteServer({
  root: ROOT,
  configFile: false,
  logLevel: 'error',
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  appType: 'custom',
  optimizeDeps: { noDiscovery: true },
  ssr: { external: ['@sallyport/core', '@sallyport/kit', 'sallyport'] },
})
try {
  const { runFuzzSuite } = await vite.ssrLoadModule('/tests/fuzz/fuzz-suite.ts')
  for (const name of positionals.length > 0 ? positionals : ALL) {
    const { suite } = await vite.ssrLoadModule(`/tests/fuzz/${name}${ENDING}`)
    report(name, await runFuzzSuite(suite, { cases, seed }))
  }
} finally {
  await vite.close()
}

function report(name, { cases: done, seconds, findings }) {
  console.log(`${name}: ${done} cases, ${seconds.toFixed(1)} s, ${findings.length} findings`)
  for (const { property, counterexample, error, seed: used, path } of findings) {
    console.log(`  ${property}\n    seed ${used}, path ${path}\n    ${counterexample}\n    ${error}`)
    process.exitCode = 1
  }
}

function readInteger(flag, text) {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0) stop(`${flag} must be a whole number, got ${JSON.stringify(text)}.`)
  return value
}

function stop(message) {
  console.error(message)
  process.exit(2)
}
