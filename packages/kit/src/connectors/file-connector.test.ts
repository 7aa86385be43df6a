import { open, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { FileConnector } from './file-connector.ts'
import { expectRefusal, useTestWorkspace } from './test-workspace.test-kit.ts'

const testWorkspace = useTestWorkspace()
const put = (name: string, content: string | Uint8Array): Promise<void> =>
  writeFile(join(testWorkspace.root, name), content)

describe(`${promise('KIT-7')} FileConnector`, () => {
  test('writes, appends, edits, finds, lists and deletes', async () => {
    const { options } = testWorkspace
    await FileConnector.write('/workspace/notes/a.txt', 'one\n', options)
    await FileConnector.append('/workspace/notes/a.txt', 'two\n', options)
    await FileConnector.append('/workspace/other/b.log', 'three\n', options)
    await FileConnector.edit('/workspace/notes/a.txt', { find: 'one', replace: '$& 1' }, options)
    expect((await FileConnector.read('/workspace/notes/a.txt', options)).text).toBe('$& 1\ntwo\n')
    expect((await FileConnector.find('/workspace', { ...options, glob: '*.log' })).files).toEqual([
      { path: '/workspace/other/b.log', size: 6 },
    ])
    expect((await FileConnector.list('/workspace', options)).entries.map(({ name }) => name)).toEqual([
      'notes',
      'other',
    ])
    expect(await FileConnector.search('/workspace', { text: 't' }, options)).toEqual({
      lines: [
        { path: '/workspace/notes/a.txt', line: 2, text: 'two' },
        { path: '/workspace/other/b.log', line: 1, text: 'three' },
      ],
      isWhole: true,
    })
    await FileConnector.delete('/workspace/notes/a.txt', options)
    expect((await expectRefusal(FileConnector.read('/workspace/notes/a.txt', options))).retryable).toBe(true)
  })

  test('an edit needs exactly one occurrence, unless all are requested', async () => {
    const { options } = testWorkspace
    await put('a.txt', 'x x x')
    const path = '/workspace/a.txt'
    expect((await expectRefusal(FileConnector.edit(path, { find: 'x', replace: 'y' }, options))).message).toContain(
      '3 times',
    )
    expect((await expectRefusal(FileConnector.edit(path, { find: 'z', replace: 'y' }, options))).message).toContain(
      'not in',
    )
    await expectRefusal(FileConnector.edit(path, { find: '', replace: 'y' }, options))
    await FileConnector.edit(path, { find: 'x', replace: 'y', occurrences: 'all' }, options)
    expect(await readFile(join(testWorkspace.root, 'a.txt'), 'utf8')).toBe('y y y')
  })

  test('all pages together are the file, whatever their size', async () => {
    const whole = 'añ€😀\n'.repeat(500)
    await put('a.txt', whole)
    for (const limit of [1, 5, 7, 1000]) {
      let text = ''
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        const page = await FileConnector.read('/workspace/a.txt', { ...testWorkspace.options, offset, limit })
        expect(page.isExact).toBe(true)
        text += page.text
        offset = page.nextOffset
      }
      expect(text).toBe(whole)
    }
  })

  test('invalid UTF-8 is marked, and its pages come to an end', async () => {
    await put('a.bin', Buffer.alloc(100, 0xe2))
    let pages = 0
    for (let offset: number | undefined = 0; offset !== undefined; pages++) {
      const page = await FileConnector.read('/workspace/a.bin', { ...testWorkspace.options, offset, limit: 9 })
      expect(page.isExact).toBe(false)
      offset = page.nextOffset
    }
    expect(pages).toBeLessThan(100)
  })

  test.each([
    ['', [], []],
    ['one', ['one'], ['one']],
    ['one\ntwo\r\nthree', ['one', 'two'], ['two', 'three']],
    ['one\ntwo\nthree\n', ['one', 'two'], ['two', 'three']],
    ['\n\n\n', ['', ''], ['', '']],
    ['one\n\n', ['one', ''], ['one', '']],
  ])('the head and tail of %j', async (content, head, tail) => {
    await put('a.txt', content)
    const options = { ...testWorkspace.options, lines: 2 }
    expect((await FileConnector.head('/workspace/a.txt', options)).lines).toEqual(head)
    expect((await FileConnector.tail('/workspace/a.txt', options)).lines).toEqual(tail)
  })

  test('reports whether these are all lines', async () => {
    await put('a.txt', 'one\ntwo\n')
    const two = { ...testWorkspace.options, lines: 2 }
    expect(await FileConnector.head('/workspace/a.txt', two)).toMatchObject({ isWhole: true, cut: 0 })
    expect(await FileConnector.tail('/workspace/a.txt', two)).toMatchObject({ isWhole: true })
    expect(await FileConnector.head('/workspace/a.txt', { ...two, lines: 1 })).toMatchObject({ isWhole: false })
    expect(await FileConnector.tail('/workspace/a.txt', { ...two, lines: 1 })).toMatchObject({ isWhole: false })
  })

  test('lines of 10 MB are cut, and the lines around them are found', async () => {
    await put('a.txt', `first\n${'é'.repeat(5 * 1024 * 1024)}\nlast\n`)
    const head = await FileConnector.head('/workspace/a.txt', { ...testWorkspace.options, lines: 3 })
    expect(head).toMatchObject({ cut: 1, isWhole: false })
    expect(head.lines.map((line) => line.slice(0, 5))).toEqual(['first', 'ééééé', 'last'])
    expect(head.lines[1]).toMatch(/^é{4096}$/)
    expect((await FileConnector.tail('/workspace/a.txt', { ...testWorkspace.options, lines: 1 })).lines).toEqual([
      'last',
    ])
    expect((await FileConnector.tail('/workspace/a.txt', { ...testWorkspace.options, lines: 2 })).lines[1]).toBe('last')
  })

  test('a file of 100 GB costs no more than the requested part', async () => {
    await put('a.txt', 'begin\n')
    await truncate(join(testWorkspace.root, 'a.txt'), 100 * 2 ** 30)
    const end = await open(join(testWorkspace.root, 'a.txt'), 'a')
    await end.write('\nlast but one\nlast\n')
    await end.close()
    const options = { ...testWorkspace.options, lines: 2 }
    expect((await FileConnector.tail('/workspace/a.txt', options)).lines).toEqual(['last but one', 'last'])
    expect((await FileConnector.head('/workspace/a.txt', { ...options, lines: 1 })).lines).toEqual(['begin'])
    const page = await FileConnector.read('/workspace/a.txt', { ...testWorkspace.options, offset: 100 * 2 ** 30 + 1 })
    expect(page.text).toBe('last but one\nlast\n')
    expect((await expectRefusal(FileConnector.tail('/workspace/a.txt', { ...options, lines: 3 }))).message).toContain(
      'pages',
    )
  })

  test('the tail of a growing file is that of the time when it was opened', async () => {
    await put('a.log', Array.from({ length: 50_000 }, (_, index) => `line ${index}`).join('\n'))
    const writer = await open(join(testWorkspace.root, 'a.log'), 'a')
    let isDone = false
    const growing = (async () => {
      while (!isDone) await writer.write('\nmore'.repeat(1_000))
    })()
    for (let round = 0; round < 20; round++) {
      const { lines } = await FileConnector.tail('/workspace/a.log', { ...testWorkspace.options, lines: 100 })
      expect(lines).toHaveLength(100)
      for (const line of lines) expect(line).toMatch(/^(line \d+|m?o?r?e?)$/)
    }
    isDone = true
    await growing
    await writer.close()
  })

  test('a preset shortens a long page to its most informative parts', async () => {
    await put('a.log', Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join('\n'))
    const page = await FileConnector.read('/workspace/a.log', { ...testWorkspace.options, preset: 'log_search' })
    expect(page.text.length).toBeLessThan(10_000)
    expect(page.text).toContain('line 0\n')
    expect(page.isExact).toBe(false)
    await put('a.log', 'short')
    expect(
      await FileConnector.read('/workspace/a.log', { ...testWorkspace.options, preset: 'log_search' }),
    ).toMatchObject({
      text: 'short',
      isExact: true,
    })
    await expect(FileConnector.read('/workspace/a.log', { ...testWorkspace.options, preset: 'lgo' })).rejects.toThrow(
      'preset',
    )
  })

  test('invalid counts are refused', async () => {
    await put('a.txt', 'x')
    for (const work of [
      () => FileConnector.head('/workspace/a.txt', { ...testWorkspace.options, lines: 0 }),
      () => FileConnector.tail('/workspace/a.txt', { ...testWorkspace.options, lines: 1.5 }),
      () => FileConnector.read('/workspace/a.txt', { ...testWorkspace.options, offset: -1 }),
      () => FileConnector.search('/workspace', { text: '' }, testWorkspace.options),
      () => FileConnector.read('/etc/passwd', testWorkspace.options),
      () => FileConnector.write('/workspace', 'x', testWorkspace.options),
    ])
      expect((await expectRefusal(work())).retryable).toBe(true)
  })
})
