import { describe, expect, it } from 'vitest'
import { FrameReader } from '../../upstream/answers/frame-reader.ts'
import type { Frame } from '../../upstream/upstream.ts'
import { relayedStatus } from './relayed-status.ts'

function frameOf(answer: object): Frame {
  const reader = new FrameReader(1_000_000)
  reader.feed(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, ...answer })))
  const outcome = reader.finish()
  if (outcome.kind !== 'frame') throw new Error(`The test wrote ${outcome.kind}.`)
  return outcome.frame
}

const error = { code: -32021, message: 'needs sampling', data: { requiredCapabilities: { sampling: {} } } }

describe('the status of a relayed answer', () => {
  it('is 400 for a missing capability in the modern era', () => {
    expect(relayedStatus(frameOf({ error }), 'modern')).toBe(400)
    expect(relayedStatus(frameOf({ error }), 'legacy')).toBe(200)
  })

  it('is 200 for everything else', () => {
    for (const answer of [{ result: { code: -32021 } }, { error: { ...error, code: -32603 } }, { error: [-32021] }])
      expect(relayedStatus(frameOf(answer), 'modern')).toBe(200)
  })
})
