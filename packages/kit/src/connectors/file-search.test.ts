import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createWorkspace } from '../workspace/workspace.ts'
import { CsvConnector } from './csv-connector.ts'
import { applyEdit, FileConnector } from './file-connector.ts'
import { compileSearch } from './file-search.ts'
import { JsonConnector } from './json-connector.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'file-search-'))
})
afterEach(() => rm(root, { recursive: true }))

describe(promise('KIT-7'), () => {
  test('a text is found where indexOf finds it, even in repetitive input', () => {
    const repeated = fc.array(fc.constantFrom('a', 'b', 'ab', 'aab'), { maxLength: 60 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(repeated, repeated, repeated, (before, text, after) => {
        fc.pre(text !== '')
        const line = `${before}${text}${after}`
        expect(compileSearch(text)(line)).toBe(line.indexOf(text))
        expect(compileSearch(`${text}c`)(line)).toBe(-1)
      }),
      { numRuns: 1_000 },
    )
  })

  test('the worst case of the engine’s search still takes linear time', async () => {
    const line = `${'a'.repeat(60_000)}\n`
    await writeFile(join(root, 'a.txt'), line.repeat(200))
    const workspace = createWorkspace(root)
    const text = `${'a'.repeat(15_000)}b${'a'.repeat(15_000)}`
    expect(await FileConnector.search('/workspace', { text }, { workspace })).toEqual({ lines: [], isWhole: true })
  })

  test('an edit, a filter and a wide table take linear time as well', async () => {
    const workspace = createWorkspace(root)
    const text = `${'a'.repeat(1_000_000)}b${'a'.repeat(1_000_000)}`
    await writeFile(join(root, 'a.txt'), 'a'.repeat(4_000_000))
    const edit = FileConnector.edit('/workspace/a.txt', { find: text, replace: '' }, { workspace })
    await expect(edit).rejects.toThrow('is not in the file')
    await writeFile(join(root, 'a.csv'), `x\n${'a'.repeat(900_000)}\n`)
    const where = [{ column: 'x', operator: 'contains', value: text.slice(600_000, -600_000) }] as const
    expect((await CsvConnector.read('/workspace/a.csv', { workspace, where })).rows).toEqual([])
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`c${index}`, index]))
    await CsvConnector.write('/workspace/wide.csv', [wide], { workspace })
    const columns = Object.keys(wide)
    expect((await CsvConnector.read('/workspace/wide.csv', { workspace, columns })).rows).toHaveLength(1)
  })

  test('an edit has the same result as split and join', () => {
    const repeated = fc.array(fc.constantFrom('a', 'b', 'ab', 'aab'), { maxLength: 40 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(repeated, repeated, fc.string({ maxLength: 3 }), (text, find, replace) => {
        fc.pre(find !== '' && text.includes(find))
        expect(applyEdit(text, { find, replace, occurrences: 'all' })).toBe(text.split(find).join(replace))
      }),
      { numRuns: 1_000 },
    )
    const find = 'a'.repeat(20)
    expect(applyEdit(find.repeat(3), { find, replace: 'b', occurrences: 'all' })).toBe('bbb')
  })

  test('an edit that would exceed the maximum string length is refused', () => {
    const edit = { find: 'a', replace: 'x'.repeat(1_000_000), occurrences: 'all' } as const
    expect(() => applyEdit('a'.repeat(10_000), edit)).toThrow('would have 10000000000 characters')
  })

  test('every file connector stops with the signal of its call', async () => {
    for (const name of ['a.csv', 'a.json']) await writeFile(join(root, name), '[1]\n'.repeat(100_000))
    const workspace = createWorkspace(root)
    const works: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => FileConnector.search('/workspace', { text: 'x' }, { workspace, signal }),
      (signal) => FileConnector.find('/workspace', { workspace, signal }),
      (signal) => FileConnector.read('/workspace/a.csv', { workspace, signal }),
      (signal) => CsvConnector.read('/workspace/a.csv', { workspace, signal }),
      (signal) => JsonConnector.read('/workspace/a.json', { workspace, signal }),
      (signal) => FileConnector.write('/workspace/new', 'x', { workspace, signal }),
    ]
    for (const work of works) {
      await expect(work(AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
      const during = new AbortController()
      const running = work(during.signal)
      during.abort(new Error('during'))
      await running.then(
        () => undefined,
        (error: Error) => expect(error.message).toBe('during'),
      )
    }
  })

  test('a search stops in the middle of a file', async () => {
    await writeFile(join(root, 'a.txt'), 'line\n'.repeat(200_000))
    const workspace = createWorkspace(root)
    let reads = 0
    const controller = new AbortController()
    const counted = {
      ...workspace,
      useFile: ((path, use) =>
        workspace.useFile(path, (file) =>
          use({
            ...file,
            read: (offset, length) => {
              if (++reads === 3) controller.abort(new Error('enough'))
              return file.read(offset, length)
            },
          }),
        )) as typeof workspace.useFile,
    }
    const { signal } = controller
    await expect(FileConnector.search('/workspace', { text: 'x' }, { workspace: counted, signal })).rejects.toThrow(
      'enough',
    )
    expect(reads).toBe(3)
  })
})
