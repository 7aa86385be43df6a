import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { OpenFile } from '../workspace/workspace.ts'
import { detectDelimiter, readRecords } from './csv-connector.ts'
import { findTailStart, readLines } from './file-lines.ts'

/** A file that returns at most `maxBytes` bytes at once. */
function fileOf(bytes: Buffer, maxBytes: number): OpenFile {
  const read = async (offset: number, length: number): Promise<Buffer> =>
    bytes.subarray(offset, offset + Math.min(length, maxBytes))
  return { size: bytes.length, modified: new Date(0), read }
}

async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const taken: Value[] = []
  for await (const value of values) taken.push(value)
  return taken
}

const pieces = fc
  .array(fc.constantFrom('a', '"', '""', ',', '\n', '\r', '\r\n', '€', '😀', '\ufeff', ' '), { maxLength: 40 })
  .map((parts) => Buffer.from(parts.join('')))

const outcome = (file: OpenFile): Promise<unknown> =>
  all(readRecords(file, 0x2c)).catch((error: Error) => error.message)

test('records are the same wherever the bytes are split', () =>
  fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 3, max: 9 }), async (bytes, maxBytes) => {
      expect(await outcome(fileOf(bytes, maxBytes))).toEqual(await outcome(fileOf(bytes, Number.MAX_SAFE_INTEGER)))
      await detectDelimiter(fileOf(bytes, Number.MAX_SAFE_INTEGER))
    }),
    { numRuns: 2_000 },
  ))

test('lines are the same wherever the bytes are split, and are those of the text', () =>
  fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 1, max: 9 }), async (bytes, maxBytes) => {
      const lines = await all(readLines(fileOf(bytes, maxBytes), { lineBytes: 1_000 }))
      const expected = bytes.toString().split('\n')
      if (expected.at(-1) === '') expected.pop()
      expect(lines.map(({ text }) => text)).toEqual(
        expected.map((line) => line.replace(/^\ufeff/, '').replace(/\r$/, '')),
      )
      const tail = await findTailStart(fileOf(bytes, Number.MAX_SAFE_INTEGER), 2, 1_000)
      expect(await all(readLines(fileOf(bytes, maxBytes), { from: tail ?? 0, lineBytes: 1_000 }))).toHaveLength(
        Math.min(2, lines.length),
      )
    }),
    { numRuns: 1_000 },
  ))
