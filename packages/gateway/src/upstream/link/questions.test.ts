import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { Client, QuestionAnswer } from '../client.ts'
import { Questions } from './questions.ts'

/** What a server hears when nobody can be asked. */
function unheard(method: string, { isOneClient }: { isOneClient: boolean }): unknown {
  const sent: string[] = []
  const questions = new Questions({ send: (text) => void sent.push(text), isOneClient })
  questions.relay({ jsonrpc: '2.0', id: 'q', method }, undefined, [])
  return JSON.parse(sent.join())
}

describe('a question that reaches nobody', () => {
  it('is answered for roots where no client is behind the connection: there are none', () => {
    expect(unheard('roots/list', { isOneClient: false })).toEqual({ jsonrpc: '2.0', id: 'q', result: { roots: [] } })
  })

  it('is refused for roots of a client that cannot be reached now, so that the server asks again', () => {
    expect(unheard('roots/list', { isOneClient: true })).toMatchObject({ id: 'q', error: { code: -32_601 } })
  })

  it('is refused for everything else', () => {
    expect(unheard('sampling/createMessage', { isOneClient: false })).toMatchObject({ error: { code: -32_601 } })
  })
})

const CLIENT = { era: 'legacy', capabilities: { sampling: {} } } as unknown as Client

describe('the open questions of a server', () => {
  it('have only so much room together, which is free again when they are answered', async () => {
    const told: JsonObject[] = []
    const answers: ((answer: QuestionAnswer) => void)[] = []
    const questions = new Questions({
      send: (text) => void told.push(JSON.parse(text) as JsonObject),
      isOneClient: false,
    })
    const ask = () => new Promise<QuestionAnswer>((resolve) => answers.push(resolve))
    const relay = (id: number): void =>
      questions.relay(
        { id, method: 'sampling/createMessage', params: { text: 'x'.repeat(3_000_000) } },
        { client: CLIENT, ask, waiting: [] },
        [],
      )
    for (const id of [1, 2, 3]) relay(id)
    expect(told).toEqual([{ jsonrpc: '2.0', id: 3, error: { code: -32_603, message: '2 questions are open.' } }])
    answers[0]?.({ result: {} })
    await new Promise((resolve) => setImmediate(resolve))
    relay(4)
    expect([told.length, answers.length]).toEqual([2, 3])
  })
})
