import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { openSealed, plainSize, type ReadableBytes, type Seal, SealBroken, sealBytes } from './sealed-bytes.ts'

const CHUNK = 64 * 1024
const STORED_CHUNK = CHUNK + 16
const HEADER = 20
const SEAL: Seal = { key: randomBytes(32), name: 'results/one.txt' }

const stored = (bytes: Buffer): ReadableBytes => ({
  size: bytes.length,
  read: async (offset, length) => bytes.subarray(offset, offset + length),
})

async function unseal(bytes: Buffer, seal: Seal = SEAL): Promise<Buffer> {
  const file = await openSealed(stored(bytes), seal)
  return file.read(0, file.size)
}

const SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 70 * CHUNK + 5]

describe(`${promise('SEN-23')} encrypted bytes`, () => {
  it.each(SIZES)('of %d bytes are the same after decryption, and show their size', async (size) => {
    const content = randomBytes(size)
    const sealed = sealBytes(content, SEAL)
    expect((await unseal(sealed)).equals(content)).toBe(true)
    expect(plainSize(sealed.length)).toBe(size)
  })

  it('can be read in any part', async () => {
    const content = randomBytes(3 * CHUNK + 100)
    const file = await openSealed(stored(sealBytes(content, SEAL)), SEAL)
    await fc.assert(
      fc.asyncProperty(fc.nat(content.length + 10), fc.nat(2 * CHUNK), async (offset, length) => {
        expect((await file.read(offset, length)).equals(content.subarray(offset, offset + length))).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  it('read only the chunks that are needed', async () => {
    const bytes = sealBytes(randomBytes(20 * CHUNK), SEAL)
    const reads: number[] = []
    const file = await openSealed(
      {
        size: bytes.length,
        read: async (offset, length) => {
          reads.push(length)
          return bytes.subarray(offset, offset + length)
        },
      },
      SEAL,
    )
    await file.read(5 * CHUNK + 10, 100)
    expect(reads).toEqual([HEADER, STORED_CHUNK, STORED_CHUNK])
  })

  const whole = sealBytes(randomBytes(3 * CHUNK + 7), SEAL)
  const chunk = (index: number): Buffer =>
    whole.subarray(HEADER + index * STORED_CHUNK, HEADER + (index + 1) * STORED_CHUNK)
  const header = whole.subarray(0, HEADER)
  it.each([
    ['a cut end', whole.subarray(0, -1)],
    ['a missing last chunk', whole.subarray(0, HEADER + 3 * STORED_CHUNK)],
    ['only a header', header],
    ['nothing', Buffer.alloc(0)],
    ['a missing first chunk', Buffer.concat([header, chunk(1), chunk(2), chunk(3)])],
    ['two swapped chunks', Buffer.concat([header, chunk(1), chunk(0), chunk(2), chunk(3)])],
    ['a repeated chunk', Buffer.concat([header, chunk(0), chunk(1), chunk(1), chunk(2), chunk(3)])],
    ['something appended', Buffer.concat([whole, Buffer.from('x')])],
    ['the same file without encryption', Buffer.from('plain text')],
  ])('are refused with %s', async (_, bytes) => {
    await expect(unseal(bytes)).rejects.toThrow(SealBroken)
  })

  it('are refused with any changed bit', async () => {
    const small = sealBytes(Buffer.from('a short result'), SEAL)
    for (let bit = 0; bit < small.length * 8; bit++) {
      const changed = Buffer.from(small)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      await expect(unseal(changed), `bit ${bit}`).rejects.toThrow(SealBroken)
    }
  })

  it('are refused under another name or with another key', async () => {
    await expect(unseal(whole, { ...SEAL, name: 'results/two.txt' })).rejects.toThrow(SealBroken)
    await expect(unseal(whole, { ...SEAL, key: randomBytes(32) })).rejects.toThrow(SealBroken)
  })

  it('never repeat, so equal results cannot be recognized', () => {
    const same = Buffer.from('the same content')
    expect(sealBytes(same, SEAL).subarray(HEADER)).not.toEqual(sealBytes(same, SEAL).subarray(HEADER))
  })
})
