import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { readNamedPreset } from './named-preset.ts'
import { scanFrame } from './redact-frame.ts'

const presetIn = (result: unknown): unknown =>
  readNamedPreset(scanFrame([Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))]))
const named = (value: unknown): unknown => presetIn({ content: [], _meta: { a: 1, 'sallyport/result': value } })

describe(`the preset that a server names for its result (${promise('SEN-21')})`, () => {
  it('is a name, or settings', () => {
    expect(named({ preset: 'sql_query' })).toBe('sql_query')
    expect(named({ preset: { threshold: 900 } })).toEqual({ threshold: 900 })
    expect(named({ threshold: 900 })).toEqual({ threshold: 900 })
  })

  it.each([null, 'sql_query', 7, ['sql_query'], { preset: 7 }, { preset: null }])('is not %j', (value) => {
    expect(named(value)).toBe(undefined)
  })

  it('is only in the `_meta` of the result itself', () => {
    const meta = { 'sallyport/result': { preset: 'sql_query' } }
    expect(presetIn({ content: [{ type: 'text', text: 'x', _meta: meta }] })).toBe(undefined)
    expect(presetIn({ content: [], _meta: { inner: { _meta: meta } } })).toBe(undefined)
    expect(presetIn({ content: [], structuredContent: { _meta: meta } })).toBe(undefined)
    expect(presetIn({ content: [], _meta: { ...meta, padding: 'x'.repeat(70_000) } })).toBe(undefined)
  })
})
