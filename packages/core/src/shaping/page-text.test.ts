import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { hostileTexts } from './hostile-texts.test-kit.ts'
import { type PageRequest, pageText, type ResultPage } from './page-text.ts'

const MAX_LENGTH = 500

function page(text: string, request: PageRequest, maxLength = MAX_LENGTH): ResultPage {
  const found = pageText(text, request, { maxLength })
  if ('problem' in found) throw new Error(found.problem)
  return found
}

const problemOf = (text: string, request: PageRequest): string => {
  const found = pageText(text, request, { maxLength: MAX_LENGTH })
  return 'problem' in found ? found.problem : 'none'
}

const csv = ['id,name', ...Array.from({ length: 200 }, (_, index) => `${index + 1},"name\nof ${index + 1}"`)].join('\n')

describe(`${promise('ISO-16')}: a page of a saved text`, () => {
  it('leads to the next one until the end, and is never too long', () => {
    fc.assert(
      fc.property(hostileTexts, fc.integer({ min: 100, max: 4_000 }), (text, most) => {
        let read = ''
        let next: { offset: number } | undefined = { offset: 0 }
        while (next !== undefined) {
          const found: ResultPage = page(text, next, most)
          expect(found.text.length).toBeLessThanOrEqual(most)
          read += found.text
          next = found.next as typeof next
        }
        expect(read).toBe(text)
      }),
      { numRuns: 150 },
    )
  })

  it('is never too long, for any request and any text', () => {
    const range = fc.tuple(fc.nat(300), fc.nat(300)).map(([from, more]) => ({ from: from + 1, to: from + 1 + more }))
    const request = fc.oneof(
      range.map((lines) => ({ lines })),
      range.map((rows) => ({ rows })),
      fc.constantFrom('', '/0', '$[1].a', '0', '//').map((path) => ({ path })),
      fc.string({ minLength: 1, maxLength: 2 }).map((grep) => ({ grep })),
    )
    fc.assert(
      fc.property(hostileTexts, request, (text, asked) => {
        const found = pageText(text, asked, { maxLength: MAX_LENGTH })
        if (!('problem' in found)) expect(found.text.length).toBeLessThanOrEqual(MAX_LENGTH)
      }),
      { numRuns: 300 },
    )
  })

  it('shows the part of a long line around the match, and its position', () => {
    const line = `${'a'.repeat(50_000)}needle${'b'.repeat(50_000)}`
    const found = page(`first\n${line}`, { grep: 'needle' })
    expect(found).toMatchObject({ text: expect.stringMatching(/^2: \(character 50,000\) … a+needleb+ …$/) })
  })

  it('has the requested lines', () => {
    const text = Array.from({ length: 1_000 }, (_, index) => `line ${index + 1}`).join('\n')
    expect(page(text, { lines: { from: 3, to: 4 } })).toEqual({
      summary: 'Lines 3 to 4 of 1,000.',
      text: 'line 3\nline 4',
      next: { lines: { from: 5, to: 6 } },
    })
    expect(page(text, { lines: { from: 999, to: 2_000 } }).next).toBeUndefined()
    expect(page(text, { lines: { from: 1_001, to: 1_002 } }).summary).toBe(
      'There are 1,000 lines; none from 1,001 to 1,002.',
    )
  })

  it('continues with the lines that did not fit', () => {
    const text = Array.from({ length: 100 }, (_, index) => `${index + 1} ${'x'.repeat(40)}`).join('\n')
    let next: PageRequest | undefined = { lines: { from: 1, to: 100 } }
    const numbers: number[] = []
    while (next !== undefined) {
      const found: ResultPage = page(text, next)
      expect(found.text).toMatch(/^(?:\d+ x{40}\n?)+$/)
      numbers.push(...found.text.split('\n').map((line) => Number.parseInt(line, 10)))
      next = found.next as PageRequest | undefined
    }
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
  })

  it('repeats the header of a table, and counts records instead of lines', () => {
    expect(page(csv, { rows: { from: 2, to: 3 } })).toMatchObject({
      summary: 'Rows 2 to 3 of 200.',
      text: 'id,name\n2,"name\nof 2"\n3,"name\nof 3"',
    })
  })

  it('has the rows of JSON lines and the items of a JSON array', () => {
    expect(page('{"a":1}\n\n{"a":2}\n{"a":3}', { rows: { from: 2, to: 2 } }).text).toBe('{"a":2}')
    expect(page('[{"a":1}, [2, 3], "x"]', { rows: { from: 2, to: 9 } }).text).toBe('[2, 3]\n"x"')
    expect(problemOf('just text', { rows: { from: 1, to: 2 } })).toContain('this is text')
  })

  it('has the value at a pointer or a path', () => {
    const text = JSON.stringify({
      'a/b': [{ 'c.d': 'long text' }],
      n: 12345678901234567890n.toString(),
      e: { f: [1, 2] },
    })
    expect(page(text, { path: '/a~1b/0' }).text).toBe('{"c.d":"long text"}')
    expect(page(text, { path: '$["a/b"][0]["c.d"]' }).text).toBe('long text')
    expect(page(text, { path: 'e.f[1]' }).text).toBe('2')
    expect(page('{"a":1,"a":2}', { path: 'a' }).text).toBe('2')
    expect(page('{"__proto__":{"x":1}}', { path: '__proto__.x' }).text).toBe('1')
    expect(problemOf(text, { path: '/e/g' })).toBe('There is no key "g". Did you mean "f"? There are: "f".')
    expect(problemOf(text, { path: '/e/f/7' })).toContain('the array has 2 items')
    expect(problemOf(text, { path: '/n/x' })).toContain('neither an object nor an array')
    expect(problemOf(text, { path: 'a[' })).toContain('is not a valid path')
    expect(problemOf('text', { path: '/a' })).toContain('this is text')
  })

  it('shortens a large JSON value, and pages a long string', () => {
    const text = JSON.stringify({ list: Array.from({ length: 900 }, (_, id) => ({ id })), text: 'ab'.repeat(900) })
    const list = page(text, { path: '/list' })
    expect(JSON.parse(list.text)).toContainEqual(expect.stringMatching(/items omitted/))
    const first = page(text, { path: '/text' })
    expect(first.next).toEqual({ path: '/text', offset: MAX_LENGTH })
    expect(page(text, { path: '/text', offset: 1_700 }).text).toBe('ab'.repeat(50))
  })

  it('has the matching lines with their numbers', () => {
    const text = Array.from({ length: 500 }, (_, index) => (index % 100 === 7 ? `hit ${index}` : 'miss')).join('\n')
    expect(page(text, { grep: 'hit' }).text).toBe('8: hit 7\n108: hit 107\n208: hit 207\n308: hit 307\n408: hit 407')
    const even = Object.assign((line: string) => /[02468]07$/.test(line), { longest: 100 })
    expect(page(text, { grep: even, from: 50 })).toMatchObject({
      summary: '2 lines from line 50 on match; 2 shown.',
      text: '208: hit 207\n408: hit 407',
    })
    const many = page('hit\n'.repeat(5_000), { grep: 'hit' })
    expect(many.next).toEqual({ from: many.text.split('\n').length + 1 })
    expect(problemOf(text, { grep: '' })).toContain('nothing to search for')
  })
})
