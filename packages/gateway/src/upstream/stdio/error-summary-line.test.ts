import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { findErrorSummaryLine } from './error-summary-line.ts'

const linesOf = (text: string): readonly string[] => text.split('\n')

describe('the error summary of a program’s last output', () => {
  it.each([
    ['import("./no-such-file.mjs")', /^Error( \[\w+\])?: Cannot find module .*no-such-file/],
    ['require("./no-such-file")', /^Error: Cannot find module '\.\/no-such-file'$/],
    ['require("node:fs").readFileSync("/no/such/file")', /^Error: ENOENT: no such file or directory/],
    ['throw new TypeError("API key is missing")', /^TypeError: API key is missing$/],
    ['throw Object.assign(new Error("first line\\nError: told by another"), { code: 7 })', /^Error: /],
    ['console.error("Error: no config.json"); console.error("usage: x <file>")', /^Error: no config\.json$/],
    ['console.error("starting"); console.error("set TOKEN first"); console.error("}")', /^set TOKEN first$/],
    ['if (', /^SyntaxError: /],
  ])('is the relevant line when Node runs %s', (program, summary) => {
    const { stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' })
    expect(findErrorSummaryLine(linesOf(stderr)), stderr).toMatch(summary)
  })

  it.each([
    [
      'Python',
      'Traceback (most recent call last):\n  File "/x.py", line 1, in <module>\n    import errors\nModuleNotFoundError: No module named \'errors\'',
      "ModuleNotFoundError: No module named 'errors'",
    ],
    [
      'npm',
      'npm error code E404\nnpm error 404 Not Found - GET http://127.0.0.1/nope - Not found\nnpm error 404\nnpm error 404 Note that you can also install from a\nnpm error 404 tarball, folder, http url, or git folder.\nnpm error A complete log of this run can be found in: /x.log',
      'npm error 404 Not Found - GET http://127.0.0.1/nope - Not found',
    ],
    [
      'Go',
      'panic: runtime error: index out of range [1]\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:5 +0x1d\nexit status 2',
      'panic: runtime error: index out of range [1]',
    ],
    ['a shell', 'sh: 1: nope: not found\n', 'sh: 1: nope: not found'],
    ['a program with little output', 'bye\n\n  \n', 'bye'],
    ['one that prints brackets alone', '{\n}\n', '}'],
  ])('is the relevant line from %s', (_who, output, summary) => {
    expect(findErrorSummaryLine(linesOf(output))).toBe(summary)
  })

  it('is undefined if there was no output', () => {
    for (const output of ['', ' \n\t\n']) expect(findErrorSummaryLine(linesOf(output))).toBeUndefined()
  })

  it('takes no longer for a line that was made to be slow', () => {
    const lines = [
      'at '.repeat(700),
      `${' '.repeat(1_999)}x`,
      `File "${'", line '.repeat(250)}`,
      `${'Error'.repeat(400)}!`,
    ]
    expect(findErrorSummaryLine(Array.from({ length: 100 }, (_, at) => lines[at % 4] as string))).toBe(lines[3])
  })
})
