import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { PacedOutput } from './paced-output.ts'

const progress = (step: number): string =>
  `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":${step}}}\n`
const answer = (id: number, text = 'done'): string => `${JSON.stringify({ jsonrpc: '2.0', id, result: { text } })}\n`

/** An agent that reads each write on its own; a slow one reads the next when it is told to. */
function openAgent({ isSlow = false } = {}) {
  const [reads, events]: [string[], string[]] = [[], []]
  let readNext = (): void => {}
  const output = new Writable({
    highWaterMark: isSlow ? 1 : 16_384,
    write: (chunk: Buffer, _encoding, done) => {
      reads.push(chunk.toString())
      if (isSlow) readNext = done
      else done()
    },
  })
  let onReady = (): void => {}
  const ready = new Promise<void>((resolve) => {
    onReady = resolve
  })
  const paced = new PacedOutput({
    output,
    onBusy: () => events.push('busy'),
    onReady: () => {
      events.push('ready')
      onReady()
    },
  })
  return { reads, events, paced, ready, readNext: () => readNext() }
}

describe('answers that the gateway sends together with progress', () => {
  it('are written apart from it, and nothing is read meanwhile', async () => {
    const { reads, events, paced, ready } = openAgent()
    paced.write(Buffer.from(progress(1) + progress(2) + answer(1)))
    expect(reads).toEqual([progress(1) + progress(2)])
    expect(events).toEqual(['busy'])
    await ready
    expect(reads).toEqual([progress(1) + progress(2), answer(1)])
    expect(events).toEqual(['busy', 'ready'])
  })

  it('are all that waits', () => {
    const { reads, events, paced } = openAgent()
    const pieces = [
      answer(1) + answer(2),
      answer(3) + progress(1),
      progress(2).slice(0, 80),
      progress(2).slice(80),
      answer(4, progress(9)) + answer(5),
    ]
    for (const piece of pieces) paced.write(Buffer.from(piece))
    expect(reads).toEqual(pieces)
    expect(events).toEqual([])
  })

  it('wait three times at most for one piece, and keep their order', async () => {
    const { reads, paced, ready } = openAgent()
    const pairs = Array.from({ length: 6 }, (_, index) => progress(index) + answer(index))
    paced.write(Buffer.from(pairs.join('')))
    paced.write(Buffer.from(answer(6)))
    await ready
    expect(reads.join('')).toBe(pairs.join('') + answer(6))
    expect(reads).toHaveLength(4)
  })

  it('are written at once when the gateway is gone', () => {
    const { reads, paced } = openAgent()
    paced.write(Buffer.from(progress(1) + answer(1)))
    paced.end()
    expect(reads).toEqual([progress(1), answer(1)])
  })

  it('wait for an agent that reads slowly, too', async () => {
    const { events, paced, ready, readNext } = openAgent({ isSlow: true })
    paced.write(Buffer.from(answer(1)))
    expect(events).toEqual(['busy'])
    readNext()
    await ready
    expect(events).toEqual(['busy', 'ready'])
  })
})
