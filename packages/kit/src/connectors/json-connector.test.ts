import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { JsonConnector } from './json-connector.ts'
import { expectRefusal, useTestWorkspace } from './test-workspace.test-kit.ts'

const testWorkspace = useTestWorkspace()
const PATH = '/workspace/d.json'
const put = (content: string | Uint8Array): Promise<void> => writeFile(join(testWorkspace.root, 'd.json'), content)
const text = (): Promise<string> => readFile(join(testWorkspace.root, 'd.json'), 'utf8')
const read = (pointer = '') => JsonConnector.read(PATH, { ...testWorkspace.options, pointer })
const STORE = '{\n  "items": [\n    {"id": 1, "a/b": "x"},\n    {"id": 2}\n  ],\n  "total": 1.50\n}\n'

describe(`${promise('KIT-7')} JsonConnector`, () => {
  test('reads a document, or the value at a pointer', async () => {
    await put(`\ufeff${STORE}`)
    expect(await read()).toEqual(JSON.parse(STORE))
    expect(await read('/items/0/a~1b')).toBe('x')
    expect(await read('/items/1')).toEqual({ id: 2 })
    expect(await read('/total')).toBe(1.5)
    for (const pointer of ['items', '/items/2', '/items/-', '/items/01', '/none', '/total/x', '/a~2'])
      await expectRefusal(read(pointer))
    expect((await expectRefusal(read('/none'))).message).toContain('"items", "total"')
  })

  test.each([
    ['$', ['']],
    ['$.items[*].id', ['/items/0/id', '/items/1/id']],
    ['$.items[-1].id', ['/items/1/id']],
    ['$..id', ['/items/0/id', '/items/1/id']],
    ["$['items'][0]['a/b']", ['/items/0/a~1b']],
    ['$.items[0]["a/b"]', ['/items/0/a~1b']],
    ['$.*', ['/items', '/total']],
    ['$.items.*.id', ['/items/0/id', '/items/1/id']],
    ['$.none', []],
    ['$.items[7]', []],
  ])('%s leads to %j', async (path, pointers) => {
    await put(STORE)
    const { matches } = await JsonConnector.query(PATH, path, testWorkspace.options)
    expect(matches.map(({ pointer }) => pointer)).toEqual(pointers)
    for (const { pointer, value } of matches) expect(await read(pointer)).toEqual(value)
  })

  test('invalid paths are refused', async () => {
    await put(STORE)
    for (const path of ['', 'items', '$items..', '$.', '$..', '$.items[?(@.id)]', '$[', '$.items[1', '$.a b'])
      await expectRefusal(JsonConnector.query(PATH, path, testWorkspace.options))
  })

  test('matches are returned in pages', async () => {
    await put(JSON.stringify(Array.from({ length: 10 }, (_, n) => n)))
    const page = await JsonConnector.query(PATH, '$[*]', { ...testWorkspace.options, offset: 2, limit: 3 })
    expect(page).toMatchObject({ matches: [{ value: 2 }, { value: 3 }, { value: 4 }], nextOffset: 5 })
  })

  test('setting a value preserves every other character', async () => {
    await put(STORE)
    const set = (pointer: string, value: any) => JsonConnector.set(PATH, { pointer, value }, testWorkspace.options)
    await set('/items/0/id', 'one')
    await set('/total', [1])
    await set('/new', null)
    await set('/items/1/name', 'n')
    await set('/items/-', { id: 3 })
    expect(await text()).toBe(
      '{\n  "items": [\n    {"id": "one", "a/b": "x"},\n    {"id": 2, "name": "n"},\n    {"id":3}\n  ],\n  "total": [1],\n  "new": null\n}\n',
    )
    await expectRefusal(set('/items/9', 1))
    await expectRefusal(set('/nowhere/x', 1))
    await expectRefusal(set('/total', undefined))
    await set('', 5)
    expect(await text()).toBe('5\n')
  })

  test('items are appended to an array', async () => {
    await put('{"a":[],"b":[1],"c":{}}')
    const append = (pointer: string, ...values: any[]) =>
      JsonConnector.append(PATH, { pointer, values }, testWorkspace.options)
    await append('/a', 1, 'x')
    await append('/b', 2)
    await append('/b')
    expect(await text()).toBe('{"a":[1, "x"],"b":[1,2],"c":{}}')
    await expectRefusal(append('/c', 1))
  })

  test('after any change the document has the expected value', async () => {
    const change = fc.tuple(fc.json({ maxDepth: 3 }), fc.constantFrom(0, 1, 2, 4), fc.jsonValue())
    await fc.assert(
      fc.asyncProperty(change, async ([json, indent, value]) => {
        const given = { list: [JSON.parse(json)], [json]: { k: JSON.parse(json) } }
        await put(JSON.stringify(given, null, indent))
        const pointer = `/${json.replaceAll('~', '~0').replaceAll('/', '~1')}`
        const clean = JSON.parse(JSON.stringify(value))
        await JsonConnector.set(PATH, { pointer: `${pointer}/k`, value: clean }, testWorkspace.options)
        await JsonConnector.set(PATH, { pointer: `${pointer}/"new"`, value: clean }, testWorkspace.options)
        await JsonConnector.append(PATH, { pointer: '/list', values: [clean] }, testWorkspace.options)
        expect(JSON.parse(await text())).toEqual({
          list: [JSON.parse(json), clean],
          [json]: { k: clean, '"new"': clean },
        })
      }),
      { numRuns: 60 },
    )
  })

  test('numbers that a double cannot represent are refused or returned as strings, and survive changes', async () => {
    const source = '{"id": 9007199254740993, "pi": 3.14159265358979323846, "big": 1e999, "s": "123456789012345678901"}'
    await put(source)
    expect((await expectRefusal(read())).message).toContain('bigNumbers')
    expect(await JsonConnector.read(PATH, { ...testWorkspace.options, bigNumbers: 'text' })).toEqual({
      id: '9007199254740993',
      pi: '3.14159265358979323846',
      big: '1e999',
      s: '123456789012345678901',
    })
    expect(await read('/s')).toBe('123456789012345678901')
    await JsonConnector.set(PATH, { pointer: '/new', value: true }, testWorkspace.options)
    expect(await text()).toContain(source.slice(0, -1))
    await put('[9007199254740991, 9007199254740992, 0.1, 0.30000000000000004, 1E5, -0, 1e-7, 123456789012345e-30]')
    expect(await read()).toHaveLength(8)
  })

  test('any number that is read equals the one that was written', () => {
    return fc.assert(
      fc.asyncProperty(fc.double({ noNaN: true, noDefaultInfinity: true }), async (value) => {
        await put(`[${value}]`)
        expect(await read('/0')).toBe(Number(`${value}`))
      }),
      { numRuns: 50 },
    )
  })

  test('the error for invalid JSON, invalid UTF-8, an empty or a too deep document quotes nothing of it', async () => {
    for (const content of [
      '',
      '{"password": hunter2}',
      '[1,]',
      '"hunter2',
      Buffer.from([0x22, 0xff, 0x22]),
      '['.repeat(1e5),
    ]) {
      await put(content)
      expect((await expectRefusal(read())).message).not.toContain('hunter')
    }
    await put(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)
    expect((await expectRefusal(read())).message).toContain('deeper')
    await put('{\n"a": 1,\n"b" 2}')
    expect((await expectRefusal(read())).message).toContain('line 3')
  })

  test('a key named __proto__ is an ordinary key', async () => {
    await put('{"__proto__": {"x": 1}}')
    expect(await read('/__proto__/x')).toBe(1)
    expect((await JsonConnector.query(PATH, '$.__proto__.x', testWorkspace.options)).matches).toHaveLength(1)
    expect((await JsonConnector.query(PATH, '$.toString', testWorkspace.options)).matches).toEqual([])
    expect(({} as { x?: number }).x).toBeUndefined()
  })

  test('JSON lines are read in pages and appended', async () => {
    await JsonConnector.appendLines(PATH, [{ n: 0 }, [1], 'two\n'], testWorkspace.options)
    await JsonConnector.appendLines(PATH, [null], testWorkspace.options)
    expect(await text()).toBe('{"n":0}\n[1]\n"two\\n"\nnull\n')
    expect(await JsonConnector.readLines(PATH, { ...testWorkspace.options, offset: 1, limit: 2 })).toEqual({
      path: PATH,
      values: [[1], 'two\n'],
      offset: 1,
      nextOffset: 3,
    })
    await put('{"a":1}\r\n\r\n{"a":2}')
    expect((await JsonConnector.readLines(PATH, testWorkspace.options)).values).toEqual([{ a: 1 }, { a: 2 }])
    await put('1\n2\n{broken\n')
    expect((await expectRefusal(JsonConnector.readLines(PATH, testWorkspace.options))).message).toContain('line 3')
    expect((await JsonConnector.readLines(PATH, { ...testWorkspace.options, limit: 2 })).values).toEqual([1, 2])
    await put(`1\n"${'x'.repeat(10 * 1024 * 1024)}"\n2\n`)
    expect((await expectRefusal(JsonConnector.readLines(PATH, testWorkspace.options))).message).toContain('line 2')
  })

  test('writes a document that people can read', async () => {
    await JsonConnector.write('/workspace/deep/x.json', { a: [1] }, testWorkspace.options)
    expect(await readFile(join(testWorkspace.root, 'deep/x.json'), 'utf8')).toBe('{\n  "a": [\n    1\n  ]\n}\n')
  })
})
