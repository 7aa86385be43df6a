import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { Client, QuestionAnswer } from '../client.ts'
import { Questions } from './questions.ts'

/** What a server gets as an answer if nobody can be asked. */
function answerWithoutClient(method: string, { isOneClient }: { isOneClient: boolean }): unknown {
  const sent: string[] = []
  const questions = new Questions({ send: (text) => void sent.push(text), isOneClient })
  questions.relay({ message: { jsonrpc: '2.0', id: 'q', method }, claims: undefined }, undefined, [])
  return JSON.parse(sent.join())
}

describe('a question without a reachable client', () => {
  it('gets an empty list of roots if the connection has no client', () => {
    expect(answerWithoutClient('roots/list', { isOneClient: false })).toEqual({
      jsonrpc: '2.0',
      id: 'q',
      result: { roots: [] },
    })
  })

  it('is refused for the roots of a client that cannot be reached now, so that the server asks again', () => {
    expect(answerWithoutClient('roots/list', { isOneClient: true })).toMatchObject({
      id: 'q',
      error: { code: -32_601 },
    })
  })

  it('is refused for everything else', () => {
    expect(answerWithoutClient('sampling/createMessage', { isOneClient: false })).toMatchObject({
      error: { code: -32_601 },
    })
  })
})

const CLIENT = { era: 'legacy', capabilities: { sampling: {} } } as unknown as Client

describe('the open questions of a server', () => {
  it('share a size limit, and answered ones no longer count', async () => {
    const sent: JsonObject[] = []
    const answers: ((answer: QuestionAnswer) => void)[] = []
    const questions = new Questions({
      send: (text) => void sent.push(JSON.parse(text) as JsonObject),
      isOneClient: false,
    })
    const ask = () => new Promise<QuestionAnswer>((resolve) => answers.push(resolve))
    const relay = (id: number): void =>
      questions.relay(
        {
          message: { id, method: 'sampling/createMessage', params: { text: 'x'.repeat(3_000_000) } },
          claims: undefined,
        },
        { client: CLIENT, ask, waiting: [] },
        [],
      )
    for (const id of [1, 2, 3]) relay(id)
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 3, error: { code: -32_603, message: '2 questions are open.' } }])
    answers[0]?.({ result: {} })
    await new Promise((resolve) => setImmediate(resolve))
    relay(4)
    expect([sent.length, answers.length]).toEqual([2, 3])
  })
})
