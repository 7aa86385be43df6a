import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeSecrets } from '../fake-secrets.test-kit.ts'
import { mayHoldSecret } from './secret-anchors.ts'
import { SECRET_SHAPES } from './secret-shapes.ts'
import { createTrigramSearch } from './trigram-search.ts'
import { buildAnchors, TrigramTable } from './trigram-table.ts'

const table = new TrigramTable()
for (const anchor of buildAnchors(SECRET_SHAPES)) table.add(anchor)
const search = createTrigramSearch(table)
const trigrams = table.trigramClasses.flatMap(([as, bs, cs]) =>
  as.flatMap((a) => bs.flatMap((b) => cs.map((c) => String.fromCharCode(a, b, c)))),
)
const FILLERS = ['.', 'a', 'Lorem ipsum ', '\\n', '0123456789', '-_', 'é€😀', '\u0000', 'KEYkey', '\u00ff'] as const

function foundIn(bytes: Uint8Array): readonly number[] {
  const places: number[] = []
  search?.(bytes, (_bytes, at) => {
    places.push(at)
    return false
  })
  return places
}

function positionsOf(trigram: string, bytes: Buffer): readonly number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(trigram); at >= 0; at = bytes.indexOf(trigram, at + 1)) places.push(at)
  return places
}

describe('the fast search for trigrams', () => {
  it('is available on this machine', () => {
    expect(search).toBeTypeOf('function')
  })

  it('finds each of them at any position, also in windows of memory', () => {
    for (const [number, trigram] of trigrams.entries()) {
      const places = [0, 4 + (number % 33), 200 - 3, 65_530 + (number % 12), 131_060 + (number % 20)]
      const bytes = Buffer.alloc(140_000, 0x7e)
      for (const place of places) bytes.write(trigram, place, 'latin1')
      expect(foundIn(bytes)).toEqual(places)
      expect(foundIn(bytes.subarray(0, 200))).toContain(197)
      expect(foundIn(bytes.subarray(0, 199))).not.toContain(197)
    }
  })

  it('finds all trigrams of a text, in order and once', () => {
    const part = fc.oneof(
      fc.constantFrom(...trigrams),
      fc.tuple(fc.constantFrom(...FILLERS), fc.nat(3_000)).map(([text, times]) => text.repeat(times)),
      fc.string({ unit: 'binary' }),
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), fc.nat(17), (parts, shift) => {
        const bytes = Buffer.from(`${'-'.repeat(shift)}${parts.join('')}`).subarray(shift)
        const found = foundIn(bytes)
        expect(found).toEqual([...new Set(found)].sort((a, b) => a - b))
        const known = new Set(found)
        for (const trigram of trigrams) for (const place of positionsOf(trigram, bytes)) expect(known).toContain(place)
      }),
      { numRuns: 60 },
    )
  })

  it('ends with the first accepted match', () => {
    const bytes = Buffer.from(`${'.'.repeat(5_000)}ghp_ ghp_ ghp_`)
    let asked = 0
    expect(search?.(bytes, () => ++asked === 2)).toBe(true)
    expect(asked).toBe(2)
  })
})

describe('mayHoldSecret with a long chunk', () => {
  const filler = fc.tuple(fc.constantFrom(...FILLERS), fc.nat(9_000)).map(([text, times]) => `${text.repeat(times)} `)
  const secret = fc.integer({ min: 1, max: 9_999 }).chain((seed) => fc.constantFrom(...createFakeSecrets(seed)))

  it('finds each kind of secret at any position', () => {
    fc.assert(
      fc.property(filler, filler, secret, (before, after, { secret, text = secret }) => {
        const json = JSON.stringify({ text: `${before.padStart(4_096)}${text} ${after}` })
        expect(mayHoldSecret([Buffer.from(json)])).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('finds nothing that is not found in short chunks', () => {
    const words = fc.constantFrom('secret', 'api', 'key', '://', '-----', 'eyJ', 'token', 'x', ' ', ':', '"', '\\u0041')
    fc.assert(
      fc.property(fc.array(words, { maxLength: 200 }), filler, (parts, end) => {
        const bytes = Buffer.from(`${' '.repeat(4_096)}${parts.join('')}${end}`)
        const pieces = Array.from({ length: Math.ceil(bytes.length / 4_000) }, (_, at) =>
          bytes.subarray(at * 4_000, (at + 1) * 4_000),
        )
        if (mayHoldSecret([bytes])) expect(mayHoldSecret(pieces)).toBe(true)
        else expect(mayHoldSecret(pieces.slice(0, 2))).toBe(mayHoldSecret([bytes.subarray(0, 8_000)]))
      }),
      { numRuns: 200 },
    )
  })
})
