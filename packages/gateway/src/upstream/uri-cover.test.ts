import { describe, expect, it } from 'vitest'
import { coveringUris } from './uri-cover.ts'

describe('the resources that a changed one may be a part of', () => {
  it('are its parents, with and without the slash, and none above its root', () => {
    expect(coveringUris('file:///a/b/c')).toEqual([
      'file:///a/b/c',
      'file:///a/b/',
      'file:///a/b',
      'file:///a/',
      'file:///a',
      'file:///',
      'file://',
    ])
    expect(coveringUris('x://host/a')).toEqual(['x://host/a', 'x://host/', 'x://host'])
  })

  it.each(['x://host', 'x://', 'urn:thing', '', '/', '//', 'a'])('are only itself for %j', (uri) => {
    expect(coveringUris(uri)).toEqual([uri])
  })

  it('are few, however many parts a hostile server writes', () => {
    expect(coveringUris(`x://h${'/'.repeat(8_000)}`).length).toBeLessThanOrEqual(130)
    expect(coveringUris(`x://h${'/a'.repeat(500_000)}`)).toHaveLength(1)
  })
})
