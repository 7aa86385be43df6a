import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LoggedEvent } from '@sallyport/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readRuleLines } from './rule-lines.ts'

function fileWith(text: string, name = 'tools.yaml'): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-rules-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const decidedBy = (file: string, line: number): LoggedEvent =>
  ({
    ...{ seq: 1, time: '2026-05-01T10:00:00Z', type: 'POLICY_DENIED', steps: {} },
    decided_by: { step: 'mode', reason: '', rule: { file, line } },
  }) as unknown as LoggedEvent

const textAt = async (file: string, line = 1): Promise<string | undefined> =>
  (await readRuleLines([decidedBy(file, line)]))[0]?.text

describe('the line of a rule', () => {
  it('is shown in its current form, with the time of the last change, once for all records that name it', async () => {
    const file = fileWith('tools:\r\n  a:\r\n    hidden: true\r\n')
    utimesSync(file, 0, 1_000)
    const found = await readRuleLines([decidedBy(file, 3), decidedBy(file, 3), decidedBy(file, 9)])
    expect(found).toEqual([
      { file, line: 3, text: 'hidden: true', changed: '1970-01-01T00:16:40.000Z' },
      { file, line: 9, changed: '1970-01-01T00:16:40.000Z' },
    ])
  })

  it('does not reveal the content of a server’s entry', async () => {
    const entry = '{ command: npx, args: [--key, hidden-value], env: { KEY: hidden-value } }'
    for (const text of [`  clock: ${entry}`, `{"mcp_servers": {"clock": ${entry}}}`, '  url: http://a/?k=hidden-value'])
      expect(await textAt(fileWith(text, 'config.yaml')), text).toMatch(/^(clock: |url: )?…$/)
    const rule = 'a: { arguments: { url: { const: x } } }'
    expect(await textAt(fileWith(rule))).toBe(rule)
    const key = `AKIA${'IOSFODNN7EXAMPLF'}`
    expect(await textAt(fileWith(`note: ${key}`))).toMatch(/^note: \[redacted/)
    expect(await textAt(fileWith('password: hunter2'))).not.toContain('hunter2')
  })

  it('is read only from files that can contain rules', async () => {
    expect(await readRuleLines([decidedBy('/etc/passwd', 1)])).toEqual([{ file: '/etc/passwd', line: 1 }])
    expect(await readRuleLines([decidedBy('/nowhere/tools.yaml', 1)])).toEqual([
      { file: '/nowhere/tools.yaml', line: 1 },
    ])
    const pipe = join(fileWith(''), '..', 'pipe.yaml')
    execFileSync('mkfifo', [pipe])
    expect(await readRuleLines([decidedBy(pipe, 1)])).toEqual([{ file: pipe, line: 1 }])
  })
})
