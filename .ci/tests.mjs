/**
 * Runs all tests of `.ci/run`, and prints the counts.
 *
 * A file that fails is run once more, alone: on a busy machine a test can run out of time, although the
 * change is good. If it passes then, its tests are printed as flaky. Everything else fails the run: a test
 * that fails twice, many failures, a test that was left out (on Linux every test can run), a process that outlives the tests.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** More failed files than this are not the work of a busy machine. */
const MAX_REPEATED_FILES = 5

const folder = mkdtempSync(join(tmpdir(), 'ci-tests-'))
try {
  process.exitCode = runAll()
} finally {
  rmSync(folder, { recursive: true })
}

function runAll() {
  const first = runTests('first', [])
  // Where vitest could not begin there is no report.
  if (first === undefined) return 1
  for (const title of first.left) console.log(`left out: ${title}`)
  const repeated = first.failedFiles.length > 0 && first.failedFiles.length <= MAX_REPEATED_FILES
  const second = repeated ? repeat(first) : undefined
  const { failed } = second ?? first
  for (const title of failed) console.log(`failed: ${title}`)
  console.log(`${first.passed + first.failed.length - failed.length} passed, ${failed.length} failed`)
  const ended = second === undefined ? first.exitCode : second.exitCode
  return ended !== 0 || first.left.length > 0 || (second?.left.length ?? 0) > 0 ? 1 : 0
}

function repeat({ failedFiles, failed }) {
  console.log(`\n== Failed, and run once more alone: ${failedFiles.join(' ')}`)
  const second = runTests('second', [...failedFiles, '--maxWorkers=1'])
  if (second === undefined || second.exitCode !== 0) return second
  for (const name of failed) console.log(`flaky, passed when run alone: ${name}`)
  return second
}

function runTests(name, options) {
  const report = join(folder, `${name}.json`)
  const { status } = spawnSync(
    'npm',
    [
      'run',
      '--silent',
      'test:built',
      '--',
      ...options,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    { stdio: 'inherit', env: { ...process.env, SALLYPORT_TESTS: 'ci' } },
  )
  const results = readReport(report)
  return results && { ...results, exitCode: status ?? 1 }
}

function readReport(report) {
  let parsed
  try {
    parsed = JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return undefined
  }
  const files = parsed.testResults.map(({ name, status, assertionResults }) => {
    const titled = (wanted) =>
      assertionResults.filter((test) => wanted.includes(test.status)).map(({ fullName }) => `${fullName} (${name})`)
    const failed = titled(['failed'])
    // If the preparation of a file fails, no test of it does: all are left out.
    if (status === 'failed') return { name, failed: failed.length > 0 ? failed : [name], left: [] }
    return { name, failed, left: titled(['pending', 'skipped', 'todo', 'disabled']) }
  })
  return {
    passed: parsed.numPassedTests,
    failed: files.flatMap(({ failed }) => failed),
    left: files.flatMap(({ left }) => left),
    failedFiles: files.filter(({ failed }) => failed.length > 0).map(({ name }) => name),
  }
}
