import { describe, expect, it } from 'vitest'
import type { Call } from './call.ts'
import { askForInputs } from './input-rounds.ts'
import { createCall, toTestFrame } from './pipeline.test-kit.ts'

const ELICITING = { era: 'legacy', capabilities: { elicitation: {} } } as unknown as Call['client']

function round(questions: number) {
  const asked = Array.from(
    { length: questions },
    (_, index) => [`k${index}`, { method: 'elicitation/create' }] as const,
  )
  const result = { resultType: 'input_required', inputRequests: Object.fromEntries(asked) }
  const call = createCall({ name: 'x' } as Call['offer'], { client: ELICITING })
  let heard = 0
  const ask = async () => ({ result: { action: 'accept', nth: ++heard } })
  return { heard: () => heard, next: askForInputs(call, toTestFrame({ jsonrpc: '2.0', id: 1, result }), ask) }
}

describe('what a modern server wants to know of a legacy client', () => {
  it('is asked for all together', async () => {
    const { next, heard } = round(100)
    expect(Object.keys((await next).inputResponses as object)).toHaveLength(100)
    expect(heard()).toBe(100)
  })

  it('is not asked for at all where it is more than anybody would answer', async () => {
    const { next, heard } = round(101)
    await expect(next).rejects.toThrow('101 things at once')
    expect(heard()).toBe(0)
  })
})
