import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readFairly } from './fair-reader.ts'

describe('readFairly', () => {
  it('gives others a turn during a flood, and reads all of it', async () => {
    let turns = 0
    let bytes = 0
    let reading = true
    const other = () => {
      turns++
      if (reading) setImmediate(other)
    }
    setImmediate(other)
    const chunk = Buffer.alloc(65_536)
    const stream = Readable.from(Array.from({ length: 100 }, () => chunk))
    readFairly(stream, ({ length }) => {
      bytes += length
      return length
    })
    await once(stream, 'end')
    reading = false
    expect(bytes).toBe(6_553_600)
    expect(turns).toBeGreaterThan(20)
  })
})
