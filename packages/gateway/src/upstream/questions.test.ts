import { describe, expect, it } from 'vitest'
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
