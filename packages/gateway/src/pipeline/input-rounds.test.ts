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
  let count = 0
  const ask = async () => ({ result: { action: 'accept', nth: ++count } })
  return { asked: () => count, next: askForInputs(call, toTestFrame({ jsonrpc: '2.0', id: 1, result }), ask) }
}

describe('the questions of a modern server to a legacy client', () => {
  it('are asked all at once', async () => {
    const { next, asked } = round(100)
    expect(Object.keys((await next).inputResponses as object)).toHaveLength(100)
    expect(asked()).toBe(100)
  })

  it('are not asked at all if there are too many', async () => {
    const { next, asked } = round(101)
    await expect(next).rejects.toThrow('101 things at once')
    expect(asked()).toBe(0)
  })
})
