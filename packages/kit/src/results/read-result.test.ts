import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { ToolRetryError } from '../tool-error.ts'
import { type ReadResultArguments, readResult } from './read-result.ts'
import { createTestRoot, openTestStore } from './test-result-store.test-kit.ts'

const csv = ['id,name', ...Array.from({ length: 3_000 }, (_, index) => `${index + 1},name ${index + 1}`)].join('\n')

async function savedTable() {
  const store = openTestStore(createTestRoot())
  const { handle } = await store.save(csv)
  return { store, handle }
}

describe(`${promise('ISO-16')}: readResult`, () => {
  it('returns the arguments for the next page, until the end', async () => {
    const { store, handle } = await savedTable()
    let args: ReadResultArguments = { handle, rows: '2990-' }
    const first = await readResult(store, args, { maxLength: 100 })
    expect(first).toMatch(
      /^\[Rows 2,990 to 2,99\d of 3,000\. Next: this tool with \{"handle":"r_.*"rows":"299\d-\d+"\}\]\nid,name\n2990,/,
    )
    let last = first
    while (last.includes('Next: ')) {
      args = JSON.parse(/Next: this tool with (\{.*?\})\]/.exec(last)?.[1] ?? '')
      last = await readResult(store, args, { maxLength: 100 })
    }
    expect(last).toMatch(/of 3,000\. This is the end\.\]\nid,name\n(?:.|\n)*3000,name 3000$/)
  })

  it('continues with the same search', async () => {
    const { store, handle } = await savedTable()
    const page = await readResult(store, { handle, grep: 'name 1' }, { maxLength: 200 })
    expect(page).toMatch(/Next: this tool with \{"handle":"r_[a-z2-7]+","grep":"name 1","from":\d+\}/)
  })

  it('returns short pages for any arguments', async () => {
    const { store, handle } = await savedTable()
    for (const more of [{}, { offset: 5, limit: 1e9 }, { lines: '1-99999' }, { rows: '1-99999' }, { grep: 'n' }])
      expect((await readResult(store, { handle, ...more })).length).toBeLessThan(5_000)
  })

  it.each<[args: object, says: string]>([
    [{ handle: 'r_aaaaaaaaaaaaaaaaaaaa' }, 'There is no such result in this session.'],
    [{ handle: '../../etc/passwd' }, 'There is no such result in this session.'],
    [{ lines: '1-2', grep: 'x' }, 'Give one of lines, grep, not several.'],
    [{ lines: '9-3' }, 'lines is "9-3"; expected two numbers such as "100-150".'],
    [{ lines: '0-3' }, 'expected two numbers'],
    [{ offset: -1 }, 'offset is -1'],
    [{ offset: 1.5 }, 'offset is 1.5'],
    [{ pattern: '(a+)+$' }, 'Patterns are not supported here'],
    [{ grep: 'x'.repeat(501) }, 'grep has 501 characters; at most 500 are allowed.'],
    [{ path: '/a' }, 'A path needs JSON; this is csv.'],
  ])('tells the model what to correct: %j', async (args, says) => {
    const { store, handle } = await savedTable()
    const failure = await readResult(store, { handle, ...args }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ToolRetryError)
    expect((failure as Error).message).toContain(says)
  })

  it('uses patterns if they are compiled safely', async () => {
    const { store, handle } = await savedTable()
    const compile = (source: string) =>
      source === '('
        ? { problem: 'a bracket is open' }
        : Object.assign((line: string) => line.endsWith(source), { longest: 100 })
    expect(await readResult(store, { handle, pattern: ' 2999' }, { compile })).toContain('3000: 2999,name 2999')
    await expect(readResult(store, { handle, pattern: '(' }, { compile })).rejects.toThrow('a bracket is open')
  })

  it('describes content that is binary', async () => {
    const store = openTestStore(createTestRoot())
    const { handle } = await store.save(Buffer.from([1, 2, 3]), { mimeType: 'image/png' })
    expect(await readResult(store, { handle })).toMatch(
      /\.png is image\/png of 3 bytes, which cannot be shown as text\.\]$/,
    )
  })
})
