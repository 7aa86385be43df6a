import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { scanFrame } from '../upstream/upstream.ts'
import { detachStructure } from './raw-structure.ts'

const LARGE = JSON.stringify({ rows: Array.from({ length: 30_000 }, (_, row) => ({ row, exact: 1.5 })) })
const frame = (result: string) => scanFrame([Buffer.from(`{"jsonrpc":"2.0","id":7,"result":${result}}`)])

describe(`structured content that is far too large to return (${promise('ISO-17')})`, () => {
  it('is cut out as bytes, and the rest is parsed without it', () => {
    const written = LARGE.replace('1.5', '1.50000000000000000001')
    const text = `{"content":[{"type":"text","text":"x"}], "structuredContent" : ${written} ,"isError":false}`
    const apart = detachStructure(frame(text), 1_000)
    expect(apart?.written.toString()).toBe(written)
    expect(apart?.message).toEqual({
      ...{ jsonrpc: '2.0', id: 7 },
      result: { content: [{ type: 'text', text: 'x' }], structuredContent: {}, isError: false },
    })
  })

  it.each([
    ['it is small', '{"content":[],"structuredContent":{"a":1}}', 1],
    ['all of it may be returned', `{"content":[],"structuredContent":${LARGE}}`, LARGE.length],
    ['it is there twice', `{"structuredContent":${LARGE},"structuredContent":${LARGE}}`, 1],
    ['it is missing', `{"content":[{"type":"text","text":${JSON.stringify(LARGE)}}]}`, 1],
  ])('is parsed as usual if %s', (_why, result, maxLength) => {
    expect(detachStructure(frame(result), maxLength)).toBeUndefined()
  })
})
