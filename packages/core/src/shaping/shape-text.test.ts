import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { estimateTokens } from '../text/estimate-tokens.ts'
import { anyPreset, hostileTexts } from './hostile-texts.test-kit.ts'
import { findPreset } from './preset.ts'
import { shapeText } from './shape-text.ts'

const DEFAULT = findPreset('default')
const HANDLE = 'r_abcdefghijklmnopqrst'
const MIME_TYPES = ['text/plain', 'application/json', 'text/csv', 'text/html', 'text/markdown', 'application/x-ndjson']

const hints = fc.record(
  {
    mimeType: fc.constantFrom(...MIME_TYPES),
    handle: fc.constant(HANDLE),
    name: fc.constantFrom('a.csv', 'b.xml', 'c'),
  },
  { requiredKeys: [] },
)

const hasLoneSurrogate = (text: string): boolean => /\p{Surrogate}/u.test(text)

describe(`${promise('ISO-15')}: a shaped text`, () => {
  it('is never longer than the threshold or the original, and respects the token limit', () => {
    fc.assert(
      fc.property(hostileTexts, anyPreset, hints, (text, preset, given) => {
        const shaped = shapeText(text, preset, given)
        expect(shaped.text.length).toBeLessThanOrEqual(text.length)
        expect(shaped.isWhole).toBe(text.length <= preset.threshold)
        if (shaped.isWhole) expect(shaped.text).toBe(text)
        if (shaped.isWhole) return
        expect(shaped.text.length).toBeLessThanOrEqual(preset.threshold)
        expect(estimateTokens(shaped.text)).toBeLessThanOrEqual(preset.previewTokens)
        expect(shapeText(text, preset, given)).toEqual(shaped)
      }),
      { numRuns: 600 },
    )
  })

  it('fits even a threshold below the allowed minimum', () => {
    fc.assert(
      fc.property(hostileTexts, anyPreset, fc.integer({ min: 0, max: 399 }), (text, preset, threshold) => {
        const shaped = shapeText(text, { ...preset, threshold }, { handle: HANDLE })
        expect(shaped.text.length).toBeLessThanOrEqual(Math.min(threshold, text.length))
      }),
      { numRuns: 300 },
    )
  })

  it('splits no surrogate pair', () => {
    const wellFormed = hostileTexts.filter((text) => !hasLoneSurrogate(text) && !/\\u[dD][89a-fA-F]/.test(text))
    fc.assert(
      fc.property(wellFormed, anyPreset, (text, preset) => {
        expect(hasLoneSurrogate(shapeText(text, preset).text)).toBe(false)
      }),
      { numRuns: 300 },
    )
  })

  it('splits no grapheme of a long line', () => {
    const family = '👨‍👩‍👧‍👦'
    for (let shift = 0; shift < 12; shift++) {
      const { preview } = shapeText('x'.repeat(shift) + family.repeat(2_000), DEFAULT)
      const outside = preview.replaceAll(family, '').replace(/ … [\d,]+ characters omitted … /, '')
      expect(outside).toBe('x'.repeat(shift))
    }
  })

  it('of JSON is valid JSON, says that it is incomplete, and counts correctly what is missing', () => {
    const json = fc.oneof(
      fc.json({ maxDepth: 5 }),
      fc.array(fc.json({ maxDepth: 3 })).map((all) => `[${all.join(',')}]`),
    )
    fc.assert(
      fc.property(json, fc.integer({ min: 1, max: 60 }), anyPreset, (value, times, preset) => {
        const text = JSON.stringify(
          Array.from({ length: times }, () => JSON.parse(value)),
          null,
          1,
        )
        const shaped = shapeText(text, preset, { handle: HANDLE })
        if (shaped.isWhole) return
        const read = JSON.parse(shaped.text)
        expect(shaped.kind).toBe('json')
        expect(read.notice).toContain(HANDLE)
        expect(JSON.stringify(read.preview)).toBe(JSON.stringify(JSON.parse(shaped.preview)))
        expect(isTrue(read.preview, JSON.parse(text))).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  it('of JSON says that nested parts were cut, even if the root is complete', () => {
    const rows = Array.from({ length: 2_000 }, (_, id) => ({ id }))
    const { notice } = JSON.parse(shapeText(JSON.stringify({ rows, total: rows.length }), findPreset('default')).text)
    expect(notice).toContain('long parts cut')
    const spaced = `[${' '.repeat(10_000)}1]`
    expect(JSON.parse(shapeText(spaced, findPreset('default')).text).notice).toContain('only white space')
  })

  it('of JSON counts correctly what is missing of long strings and keys, with any escapes', () => {
    const pieces = fc.constantFrom('a', '\\', '"', '\n', '\u0001', '😀', '👨‍👩‍👧‍👦', 'é', '\u2028', '\\u0041')
    const long = fc.array(pieces, { minLength: 1, maxLength: 40 }).map((all) => all.join('').repeat(300))
    fc.assert(
      fc.property(long, fc.boolean(), anyPreset, (value, isEscaped, preset) => {
        const plain = JSON.stringify({ text: value, list: [value, value] })
        const text = isEscaped
          ? plain.replaceAll(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          : plain
        const shaped = shapeText(text, preset)
        if (shaped.isWhole) return
        expect(isTrue(JSON.parse(shaped.preview), JSON.parse(text))).toBe(true)
        expect(hasLoneSurrogate(JSON.parse(shaped.preview).text ?? '')).toBe(false)
      }),
    )
    const key = 'k'.repeat(9_000)
    const preview = JSON.parse(
      shapeText(JSON.stringify({ [`${key}a${key}`]: 1, [`${key}b${key}`]: 2 }), DEFAULT).preview,
    )
    expect(Object.values(preview)).toEqual([1, 2])
  })

  it('of rows and lines counts correctly what is missing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 700, max: 3_000 }), anyPreset, (count, preset) => {
        const numbers = Array.from({ length: count }, (_, index) => index)
        const csv = shapeText(['id,name', ...numbers.map((id) => `${id},"a\nb ${id}"`)].join('\n'), preset)
        const log = shapeText(numbers.map((id) => `[INFO] request ${id} took {"ms": 12}`).join('\n'), preset)
        const lines = shapeText(numbers.map((id) => JSON.stringify({ id, text: 'some text' })).join('\n'), preset)
        expect([csv.kind, log.kind, lines.kind]).toEqual(['csv', 'log', 'ndjson'])
        expect(csv.preview.split('\n')[0]).toBe('id,name')
        expect(markedIn(csv.preview) + (csv.preview.match(/^\d+,"/gm)?.length ?? 0)).toBe(count)
        expect(markedIn(log.preview) + (log.preview.match(/^\[INFO\]/gm)?.length ?? 0)).toBe(count)
        expect(markedIn(lines.preview) + (lines.preview.match(/^\{/gm)?.length ?? 0)).toBe(count)
        for (const line of lines.preview.split('\n')) JSON.parse(line)
        for (const { omission, preview } of [csv, log, lines])
          expect([omission?.count, omission?.of]).toEqual([markedIn(preview), count])
      }),
      { numRuns: 60 },
    )
  })
})

describe(`${promise('ISO-14')}: what is shown`, () => {
  it('is the header of a table, whose wide rows and long cells are cut', () => {
    const wide = Array.from({ length: 500 }, (_, index) => `column${index}`).join(',')
    const row = Array.from({ length: 500 }, (_, index) => (index === 1 ? 'y'.repeat(3_000) : String(index))).join(',')
    const { kind, preview } = shapeText([wide, row, row, row].join('\n'), DEFAULT)
    expect(kind).toBe('csv')
    expect(preview).toMatch(/^column0,column1,/)
    expect(preview).toMatch(/… [\d,]+ columns omitted …/)
    expect(preview).toMatch(/0,"y+ … [\d,]+ characters omitted … y+",2/)
  })

  it('are the headings of Markdown, except inside fences', () => {
    const chapters = Array.from({ length: 9 }, (_, index) => `# Chapter ${index}\n\n${'words\n'.repeat(400)}`)
    const { kind, preview } = shapeText(
      ['## Start', '```', ...Array(80).fill('# not a heading'), '```', ...chapters].join('\n'),
      DEFAULT,
    )
    expect(kind).toBe('markdown')
    for (let index = 0; index < 9; index++) expect(preview).toContain(`# Chapter ${index}`)
    expect(preview.match(/not a heading/g)?.length ?? 0).toBeLessThanOrEqual(DEFAULT.lines.head)
  })

  it('are tags and texts of HTML, but no scripts, styles, comments or partial tags', () => {
    const items = Array.from({ length: 900 }, (_, index) => `<li class="item">Item ${index}</li>`).join('\n')
    const html = `<!DOCTYPE html><html><head><script>if (a < b) steal()</script><style>p{}</style><!-- secret --></head><body><img src="data:${'A'.repeat(5_000)}">${items}</body></html>`
    const { kind, preview } = shapeText(html, DEFAULT)
    expect(kind).toBe('html')
    expect(preview).not.toMatch(/steal|p\{\}|secret|AAAA/)
    expect(preview).toContain('<img …>')
    expect(preview).toContain('<li class="item">Item 0</li>')
    expect(preview.trimEnd().endsWith('</html>')).toBe(true)
  })

  it('are the top-level keys of YAML', () => {
    const parts = Array.from({ length: 8 }, (_, index) => `part${index}:\n${'  - item\n'.repeat(300)}`)
    const { kind, preview } = shapeText(parts.join(''), DEFAULT)
    expect(kind).toBe('yaml')
    for (let index = 0; index < 8; index++) expect(preview).toContain(`part${index}:`)
  })

  it('is only the size of binary data', () => {
    const { kind, text } = shapeText('\u0000\u0001PNG'.repeat(2_000), DEFAULT)
    expect(kind).toBe('binary')
    expect(text).toBe('[Left out: binary data of 10,000 characters.]')
  })

  it('are both ends of a single long line', () => {
    const { text } = shapeText(`start ${'word '.repeat(10_000)} end`, DEFAULT, { handle: HANDLE })
    expect(text).toMatch(/^\[Preview of a text of 50,010 characters: .*sallyport_read_result, handle r_/)
    expect(text).toMatch(/\nstart word.* … [\d,]+ characters omitted … .*word {2}end$/)
  })
})

describe('a hostile text', () => {
  const million = 1_000_000
  it.each([
    ['a million brackets', '['.repeat(million) + ']'.repeat(million)],
    ['a million brackets that are not closed', '['.repeat(million)],
    ['five million backslashes in a string', JSON.stringify('\\'.repeat(5 * million))],
    ['a million quotation marks', '"'.repeat(million)],
    ['a million openings of a tag', '<a '.repeat(million)],
    ['a million comments', '<!--'.repeat(million)],
    ['a million "<"', `<p>${'<'.repeat(million)}`],
    ['a million scripts', '<script>'.repeat(million)],
    ['ten million line breaks', '\n'.repeat(10 * million)],
    ['five million characters on a line', 'é'.repeat(5 * million)],
    ['a million combining marks', `a${'\u0301'.repeat(million)}`],
    ['a number of a million digits', `[${'1'.repeat(million)}]`],
    ['a key of a million characters', `{"${'k'.repeat(million)}":1}`],
    ['a million fences', '```\n'.repeat(million)],
  ])('is still shaped: %s', (_, text) => {
    expect(shapeText(text, DEFAULT).text.length).toBeLessThanOrEqual(DEFAULT.threshold)
  })
})

/** The sum of the numbers in all marks of a preview's lines. */
function markedIn(preview: string): number {
  const marks = preview.matchAll(/^"?… ([\d,]+) (?:row|line)s? omitted …"?$/gm)
  return [...marks].reduce((sum, [, count = '']) => sum + Number(count.replaceAll(',', '')), 0)
}

const MARK = /^… ([\d,]+) (?:item|key)s? omitted …$/

function markOf(value: unknown): number | undefined {
  const count = typeof value === 'string' ? MARK.exec(value)?.[1] : undefined
  return count === undefined ? undefined : Number(count.replaceAll(',', ''))
}

/** Each value of a preview is the value itself, shortened with a count, or a mark that counts all of it. */
function isTrue(preview: any, whole: any): boolean {
  if (Array.isArray(whole)) return isTrueList(preview, whole)
  if (typeof whole === 'object' && whole !== null) return isTrueObject(preview, whole)
  if (preview === whole) return true
  const [mark, count = ''] = / … ([\d,]+) characters? omitted … /.exec(String(preview)) ?? []
  return mark !== undefined && preview.length - mark.length + Number(count.replaceAll(',', '')) === whole.length
}

/** A mark may belong to the list or to one of its items: one interpretation must be correct. */
function isTrueList(preview: any, whole: readonly any[]): boolean {
  if (!Array.isArray(preview)) return markOf(preview) === whole.length
  const all = preview.length === whole.length && preview.every((item, index) => isTrue(item, whole[index]))
  return (
    all ||
    preview.some((item, place) => {
      if (markOf(item) !== whole.length - preview.length + 1) return false
      const tail = preview.slice(place + 1)
      return (
        preview.slice(0, place).every((before, index) => isTrue(before, whole[index])) &&
        tail.every((after, index) => isTrue(after, whole[whole.length - tail.length + index]))
      )
    })
  )
}

function isTrueObject(preview: any, whole: any): boolean {
  const count = Object.keys(whole).length
  if (typeof preview === 'string') return markOf(preview) === count
  const missing = markOf(preview['…']) ?? 0
  const shown = Object.keys(preview).filter((key) => key !== '…' || missing === 0)
  return (
    shown.length + missing === count &&
    shown.every((key) => !Object.hasOwn(whole, key) || isTrue(preview[key], whole[key]))
  )
}

describe(`${promise('ISO-13')}: a preset that fills its threshold`, () => {
  const WORDS = 'some words of a sentence that goes on and on, '
  const KINDS: Readonly<Record<string, (id: number) => string>> = {
    text: () => WORDS.repeat(20),
    'text with short lines': (id) => String(id),
    'text on one line': () => '',
    'a stack': (id) => `    at step${id} (/srv/app/file${id}.js:${id}:7)`,
    markdown: (id) => `## Part ${id}\n\n${WORDS.repeat(3)}`,
    html: (id) => `<p class="a">${id} ${WORDS}</p>`,
    yaml: (id) => `key${id}:\n  name: value ${id}`,
    'csv, wide': (id) => Array.from({ length: 60 }, (_, column) => `${id}_${column}`).join(','),
    'json of numbers': (id) => String(id),
    'json of nested lists': (id) => JSON.stringify({ id, list: Array.from({ length: 40 }, (_, one) => one * id) }),
    'json of long texts': (id) => JSON.stringify({ id, body: WORDS.repeat(40) }),
    'json far inside': (id) => JSON.stringify({ node: { id } }),
    'json of one string': () => '',
    csv: (id) => `${id},row ${id},"some words"`,
    ndjson: (id) => JSON.stringify({ id, name: `row ${id}` }),
    log: (id) => `[INFO] 2026-01-01T00:00:00Z request ${id} took ${id % 97} ms`,
    json: (id) => JSON.stringify({ id, name: `row ${id}` }),
  }
  const textOf = (kind: string): string => {
    if (kind === 'text on one line') return WORDS.repeat(2_000)
    if (kind === 'json of one string') return JSON.stringify({ text: WORDS.repeat(2_000) })
    const length = kind === 'json of long texts' ? 1_000 : 6_000
    const parts = Array.from({ length }, (_, id) => KINDS[kind]?.(id) ?? '')
    if (kind === 'html') return `<html><body>${parts.join('\n')}</body></html>`
    if (kind === 'json far inside') return `{"data":{"search":{"edges":[${parts.join(',')}]}}}`
    if (kind.startsWith('json')) return `[${parts.join(',')}]`
    return kind === 'csv' ? `id,name,note\n${parts.join('\n')}` : parts.join('\n')
  }

  const FILLING = { ...DEFAULT, previewTokens: Number.POSITIVE_INFINITY, fills: true }

  it.each(Object.keys(KINDS))('uses nearly all of the allowed length for %s, and never more', (kind) => {
    const text = textOf(kind)
    for (const threshold of [2_000, 8_000, 25_000]) {
      const filled = shapeText(text, { ...FILLING, threshold }, { handle: HANDLE }).text.length
      expect(filled).toBeLessThanOrEqual(threshold)
      expect(filled).toBeGreaterThan(threshold * 0.9)
    }
  })

  it('shows no more lines than an agent would show of it', () => {
    const shaped = shapeText(textOf('text with short lines'), { ...FILLING, threshold: 20_000, maxLines: 900 })
    expect(shaped.text.split('\n').length).toBeLessThan(910)
  })
})
