import { open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { CsvConnector } from './csv-connector.ts'
import { expectRefusal, useTestWorkspace } from './test-workspace.test-kit.ts'

const testWorkspace = useTestWorkspace()
const PATH = '/workspace/t.csv'
const put = (content: string | Uint8Array): Promise<void> => writeFile(join(testWorkspace.root, 't.csv'), content)
const text = (): Promise<string> => readFile(join(testWorkspace.root, 't.csv'), 'utf8')
const rows = async (): Promise<unknown> => (await CsvConnector.read(PATH, testWorkspace.options)).rows

describe(`${promise('KIT-7')} CsvConnector`, () => {
  test.each([
    ['plain', 'a,b\n1,2\n'],
    ['without a last line break', 'a,b\n1,2'],
    ['with CRLF', 'a,b\r\n1,2\r\n'],
    ['with CR', 'a,b\r1,2\r'],
    ['with a byte order mark', '\ufeffa,b\n1,2\n'],
    ['with a byte order mark and quotes', '\ufeff"a",b\n"1","2"\n'],
    ['with empty lines', '\na,b\n\n\r\n1,2\n\n'],
    ['with semicolons', 'a;b\n1;2\n'],
    ['with tabs', 'a\tb\n1\t2\n'],
    ['with bars', 'a|b\n1|2\n'],
  ])('a table %s is read', async (_, content) => {
    await put(content)
    expect(await CsvConnector.read(PATH, testWorkspace.options)).toEqual({
      path: PATH,
      columns: ['a', 'b'],
      rows: [{ a: '1', b: '2' }],
      offset: 0,
    })
  })

  test('quoted fields may contain delimiters, quotation marks and line breaks', async () => {
    await put('a,b\n"1,2","say ""hi"""\n"line\nbreak","\r\n"\n"",""x\n')
    expect(await rows()).toEqual([
      { a: '1,2', b: 'say "hi"' },
      { a: 'line\nbreak', b: '\r\n' },
      { a: '', b: 'x' },
    ])
  })

  test('a quotation mark within a field is an ordinary character', async () => {
    await put('a,b\n5" pipe,x"y\n')
    expect(await rows()).toEqual([{ a: '5" pipe', b: 'x"y' }])
  })

  test('an unclosed quotation mark is an error', async () => {
    await put('a,b\n"1,2\n3,4\n')
    expect((await expectRefusal(CsvConnector.read(PATH, testWorkspace.options))).message).toContain('not closed')
    await put(`a,b\n"${'x,\n'.repeat(2_000_000)}`)
    expect((await expectRefusal(CsvConnector.read(PATH, testWorkspace.options))).message).toContain('not closed')
  })

  test('columns without a name, or with duplicate or unusual names, get unique names', async () => {
    await put('a,a,,__proto__,constructor\n1,2,3,4,5,6\n7\n')
    const [first, second] = (await CsvConnector.read(PATH, testWorkspace.options)).rows
    expect(Object.entries(first ?? {})).toEqual([
      ['a', '1'],
      ['a_2', '2'],
      ['column_3', '3'],
      ['__proto__', '4'],
      ['constructor', '5'],
      ['column_6', '6'],
    ])
    expect(Object.entries(second ?? {}).map(([, value]) => value)).toEqual(['7', '', '', '', ''])
  })

  test('a header with one name very often, and a field of very many digits, are read quickly', async () => {
    await put(`${'a,'.repeat(200_000)}a\n`)
    const { columns } = await CsvConnector.read(PATH, testWorkspace.options)
    expect([columns.length, columns.at(-1)]).toEqual([200_001, 'a_200001'])
    await put(`a\n${'1'.repeat(1_000_000)}x\n5.\n.5e1\n`)
    const where = [{ column: 'a', operator: '=', value: 5 }] as const
    expect((await CsvConnector.read(PATH, { ...testWorkspace.options, where })).rows).toEqual([
      { a: '5.' },
      { a: '.5e1' },
    ])
  })

  test('columns are chosen and rows filtered, page by page', async () => {
    await put(`id,name,price\n${Array.from({ length: 100 }, (_, n) => `${n},item ${n},${n * 1.5}`).join('\n')}`)
    const where = [
      { column: 'price', operator: '>=', value: 30 },
      { column: 'name', operator: 'contains', value: '5' },
    ] as const
    const options = { ...testWorkspace.options, columns: ['name', 'id'], where, limit: 3 }
    const page = await CsvConnector.read(PATH, options)
    expect(page.rows.map(({ id }) => id)).toEqual(['25', '35', '45'])
    expect(Object.keys(page.rows[0] ?? {})).toEqual(['name', 'id'])
    const next = await CsvConnector.read(PATH, { ...options, offset: page.nextOffset ?? 0 })
    expect(next.rows.map(({ id }) => id)).toEqual(['50', '51', '52'])
    expect((await CsvConnector.read(PATH, { ...options, offset: 10_000 })).rows).toEqual([])
  })

  test('numbers are compared as numbers, and those that would lose digits as strings', async () => {
    await put('id\n9\n10\n9007199254740993\n9007199254740992\n')
    const ids = async (operator: '=' | '<', value: string) =>
      (await CsvConnector.read(PATH, { ...testWorkspace.options, where: [{ column: 'id', operator, value }] })).rows
    expect(await ids('<', '10')).toEqual([{ id: '9' }])
    expect(await ids('=', '10.0')).toEqual([{ id: '10' }])
    expect(await ids('=', '9007199254740993')).toEqual([{ id: '9007199254740993' }])
  })

  test('an unknown column or operator, a bad delimiter and a bad page are refused', async () => {
    await put('a,b\n1,2\n')
    for (const wrong of [
      { columns: ['c'] },
      { where: [{ column: 'c', operator: '=', value: 1 }] },
      { where: [{ column: 'a', operator: 'toString', value: 1 }] },
      { delimiter: '' },
      { delimiter: '"' },
      { delimiter: '→' },
      { limit: 0 },
      { offset: -1 },
    ])
      await expectRefusal(CsvConnector.read(PATH, { ...testWorkspace.options, ...(wrong as object) }))
    expect(
      (await expectRefusal(CsvConnector.read(PATH, { ...testWorkspace.options, columns: ['c'] }))).message,
    ).toContain('"a", "b"')
  })

  test('an empty file has no columns and no rows; without a header every record is a row', async () => {
    await put('')
    expect(await CsvConnector.read(PATH, testWorkspace.options)).toMatchObject({ columns: [], rows: [] })
    await put('1,2\n3,4\n')
    expect((await CsvConnector.read(PATH, { ...testWorkspace.options, header: 'none' })).rows).toEqual([
      { column_1: '1', column_2: '2' },
      { column_1: '3', column_2: '4' },
    ])
  })

  test('written values are read back unchanged', async () => {
    const field = fc.oneof(
      fc.string(),
      fc.constantFrom('', ' ', '"', '\n', '\r', ',', ';', '\ufeff', '=1+1', 'a"b', 'é😀'),
    )
    const table = fc.record({
      delimiter: fc.constantFrom(',', ';', '\t', '|'),
      rows: fc.array(fc.tuple(field, field), { minLength: 1, maxLength: 5 }),
    })
    await fc.assert(
      fc.asyncProperty(table, async ({ delimiter, rows: given }) => {
        await CsvConnector.write(PATH, given, { ...testWorkspace.options, columns: ['x', 'y'], delimiter })
        const read = await CsvConnector.read(PATH, { ...testWorkspace.options, delimiter })
        expect(read.rows).toEqual(given.map(([x, y]) => ({ x, y })))
      }),
      { numRuns: 60 },
    )
  })

  test('a table of one column keeps its empty fields', async () => {
    await CsvConnector.write(PATH, [{ a: '' }, { a: null }, { a: 0 }, { a: false }], testWorkspace.options)
    expect(await rows()).toEqual([{ a: '' }, { a: '' }, { a: '0' }, { a: 'false' }])
  })

  test('lists and mappings are written as JSON', async () => {
    await CsvConnector.write(PATH, [{ a: [1, 'x'], b: { c: null } }], testWorkspace.options)
    expect(await rows()).toEqual([{ a: '[1,"x"]', b: '{"c":null}' }])
  })

  test('rows are appended in the columns of the file, on separate lines', async () => {
    await put('a;b\n1;2')
    await CsvConnector.append(PATH, [{ b: 'x;y', a: 3 }, [4, 5]], testWorkspace.options)
    expect(await text()).toBe('a;b\n1;2\n3;"x;y"\n4;5\n')
    await expectRefusal(CsvConnector.append(PATH, [{ c: 1 }], testWorkspace.options))
    await expectRefusal(CsvConnector.append(PATH, [[1, 2, 3]], testWorkspace.options))
    await expectRefusal(CsvConnector.append('/workspace/none.csv', [[1]], testWorkspace.options))
    expect(await text()).toBe('a;b\n1;2\n3;"x;y"\n4;5\n')
  })

  test('a formula is data, and stays unchanged', async () => {
    await CsvConnector.write(PATH, [{ a: '=HYPERLINK("http://x")' }], testWorkspace.options)
    expect(await rows()).toEqual([{ a: '=HYPERLINK("http://x")' }])
  })

  test('100 MB are read page by page, with little memory', async () => {
    const file = await open(join(testWorkspace.root, 't.csv'), 'w')
    await file.write('id,text\n')
    const block = `1,"${'x'.repeat(98)}\n"\n`.repeat(10_000)
    for (let written = 0; written < 100 * 1024 * 1024; written += block.length) await file.write(block)
    await file.write('2,end\n')
    await file.close()
    const before = process.memoryUsage().arrayBuffers
    const page = await CsvConnector.read(PATH, {
      ...testWorkspace.options,
      where: [{ column: 'id', operator: '=', value: 2 }],
    })
    expect(page.rows).toEqual([{ id: '2', text: 'end' }])
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024)
  })
})
