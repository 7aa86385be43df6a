import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FuzzSuite, runFuzzSuite } from '../fuzz/fuzz-suite.ts'
import { ROOT } from '../harness/repository.ts'

/** `npm run fuzz` generates a hundred times as many. */
const CASES = 1_000
const FOLDER = join(ROOT, 'tests/fuzz')
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.fuzz.ts'))

describe('the fuzz suites', () => {
  it.each(FILES)('%s finds nothing', async (file) => {
    const { suite } = (await import(join(FOLDER, file))) as { readonly suite: FuzzSuite }
    const { cases, findings } = await runFuzzSuite(suite, { cases: CASES, seed: randomInt(2 ** 31) })
    expect(findings).toEqual([])
    expect(cases).toBeGreaterThanOrEqual(CASES)
  })

  it('report the smallest case that breaks a property, and how to repeat it', async () => {
    const closed: string[] = []
    const suite: FuzzSuite = {
      open: () => ({
        properties: {
          'It is below 100': fc.property(fc.nat(), (number) => number < 100),
          'It is a number': fc.property(fc.nat(), (number) => typeof number === 'number'),
        },
        close: () => void closed.push('closed'),
      }),
    }
    const report = await runFuzzSuite(suite, { cases: 500, seed: 7 })
    expect(report.findings).toEqual([
      expect.objectContaining({ property: 'It is below 100', counterexample: '[100]', seed: 7 }),
    ])
    expect(closed).toEqual(['closed'])
  })

  it.each([
    { args: ['path-rules', '--cases', '10'], status: 0, output: /^path-rules: 10 cases, [\d.]+ s, 0 findings\n$/ },
    { args: ['path-rule'], status: 2, output: /^Unknown fuzz suite: path-rule\. Expected one of: .*path-rules/ },
    { args: ['--cases', 'many'], status: 2, output: /^--cases must be a whole number, got "many"\.\n$/ },
  ])('run from the command line: $args', ({ args, status, output }) => {
    const done = spawnSync(process.execPath, [join(FOLDER, 'run.mjs'), ...args], { encoding: 'utf8' })
    expect({ status: done.status, output: done.stdout + done.stderr }).toEqual({
      status,
      output: expect.stringMatching(output),
    })
  })
})
