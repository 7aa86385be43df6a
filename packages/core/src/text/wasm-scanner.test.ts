import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { skipShortString, skipString } from '../json/json-bytes.ts'
import { JsonScanner } from '../json/json-scanner.ts'
import { openWasmScanner } from './wasm-scanner.ts'

const ESCAPES = ['\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', '\\u00e9', '\\uD83D', '\\uABCD', '\\u0000']
const CHARACTERS = ['a', 'é', '€', '😀', ' ', '\u007f', '/', 'u', '#', '!', '[']
const WRONG = ['"', '\\', '\\x', '\\u', '\\u12', '\\u12g4', '\\uG', '\u0000', '\n', '\u001f']

const run = fc.tuple(
  fc.constantFrom(...CHARACTERS),
  fc.constantFrom(0, 1, 3, 15, 16, 17, 63, 100, 1_000, 5_000, 30_000),
)
const right = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ESCAPES) },
  { weight: 2, arbitrary: run.map(([char, times]) => char.repeat(times)) },
)
const rightTexts = fc.array(right, { maxLength: 40 }).map((parts) => parts.join(''))
const texts = fc
  .tuple(rightTexts, fc.constantFrom('', ...WRONG), rightTexts)
  .map(([before, wrong, after]) => before + wrong + after)

/** At every memory alignment. */
const bytesOf = (text: string, shift: number): Uint8Array => Buffer.from(`${'-'.repeat(shift)}${text}`).subarray(shift)

describe('the fast string scanner', () => {
  it('is available on this machine', () => {
    expect(openWasmScanner()).toBeTypeOf('function')
  })

  it('ends where the slow one ends, for any content and start', () => {
    fc.assert(
      fc.property(texts, fc.nat(40), fc.nat(17), (text, from, shift) => {
        const bytes = bytesOf(text, shift)
        const slow = skipShortString(bytes, Math.min(from, bytes.length), bytes.length)
        expect(skipString(bytes, Math.min(from, bytes.length))).toBe(slow)
        expect(openWasmScanner()?.(bytes, Math.min(from, bytes.length))).toBe(slow)
      }),
      { numRuns: 400 },
    )
  })

  it('ends at every byte that a string may not contain, and at no other', () => {
    for (let byte = 0; byte < 256; byte++)
      for (const place of [70, 85, 86, 1_100, 65_700]) {
        const bytes = new Uint8Array(70_000).fill(0x61)
        bytes[place] = byte
        const isPlain = byte >= 0x20 && byte !== 0x22 && byte !== 0x5c
        expect(skipString(bytes, 0)).toBe(isPlain ? bytes.length : place)
      }
  })

  it('skips exactly the escapes of JSON', () => {
    for (let byte = 0; byte < 256; byte++) {
      const bytes = Buffer.from(`${'a'.repeat(100)}\\?00e9 and so on`)
      bytes[101] = byte
      expect(skipString(bytes, 0)).toBe('"\\/bfnrtu'.includes(String.fromCharCode(byte)) ? bytes.length : 100)
    }
    for (const place of [102, 103, 104, 105])
      for (let byte = 0; byte < 256; byte++) {
        const bytes = Buffer.from(`${'a'.repeat(100)}\\u00e9 and so on`)
        bytes[place] = byte
        expect(skipString(bytes, 0)).toBe(/[0-9a-fA-F]/.test(String.fromCharCode(byte)) ? bytes.length : 100)
      }
  })

  it('is not affected by what an earlier string left in memory', () => {
    skipString(Buffer.from('"\\'.repeat(40_000)), 0)
    openWasmScanner()?.(Buffer.from(`${'a'.repeat(70_000)}"\\"\\"\\`), 0)
    for (let length = 65; length < 200; length++) expect(skipString(new Uint8Array(length).fill(0x61), 0)).toBe(length)
  })

  it('does not complete an escape with what an earlier string left in memory', () => {
    for (const whole of ['\\n', '\\u00e9'])
      for (let cut = 1; cut < whole.length; cut++) {
        openWasmScanner()?.(Buffer.from(whole.slice(1).repeat(100) + whole.slice(cut).repeat(100)), 0)
        openWasmScanner()?.(Buffer.from(`${'-'.repeat(100 + cut)}${whole.slice(cut)}`), 0)
        expect(openWasmScanner()?.(Buffer.from(`${'-'.repeat(100)}${whole.slice(0, cut)}`), 0)).toBe(100)
      }
  })
})

describe('the JSON scanner with long strings', () => {
  it('accepts what JSON.parse accepts, however it is split', () => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(200_000), { maxLength: 8 }), (text, cuts) => {
        const json = `{"result":{"content":[{"type":"text","text":"${text}"}]},"id":1}`
        expect(isScanned(Buffer.from(json), cuts)).toBe(isParsed(json))
      }),
      { numRuns: 400 },
    )
  })
})

function isScanned(bytes: Uint8Array, cuts: readonly number[]): boolean {
  const scanner = new JsonScanner()
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  for (const [at, end] of places.slice(1).entries()) scanner.feed(bytes.subarray(places[at], end))
  return scanner.end() !== undefined
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
