import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { Client, QuestionScope } from './client.ts'
import { findSlot, type SharingRules } from './connection-slot.ts'

const GATEWAY = { name: 'gateway' }
const FORM = { elicitation: {} }
const ROOTS = { roots: {} }

function clientOf(capabilities: JsonObject, conversation?: string): Client {
  const client: Client = {
    era: conversation === undefined ? 'modern' : 'legacy',
    capabilities,
    clientInfo: { name: 'client' },
    conversation,
    logLevel: undefined,
    answersInCall: true,
    ask: async () => ({ result: {} }),
    notify: () => {},
  }
  return client
}

const rulesOf = (kind: SharingRules['kind'], asks: QuestionScope | undefined, perSession = false): SharingRules => ({
  kind,
  asks,
  perSession,
  clientInfo: GATEWAY,
})

const nameFor = (client: Client | undefined, rules: SharingRules, session = 's'): string | undefined =>
  findSlot({ session, client }, rules)?.name

describe('the seat for a request', () => {
  const one = clientOf(FORM, 'c-1')
  const other = clientOf(FORM, 'c-2')

  it('is none where the server never asked: everybody shares', () => {
    for (const kind of ['stdio', 'http', 'sse'] as const) expect(nameFor(one, rulesOf(kind, undefined))).toBeUndefined()
  })

  it('is the session’s where the operator wants one for each', () => {
    const rules = rulesOf('stdio', undefined, true)
    expect(nameFor(one, rules)).toBe(nameFor(other, rules))
    expect(nameFor(one, rules, 'a')).not.toBe(nameFor(one, rules, 'b'))
  })

  it.each([
    ['stdio', 'anywhere'],
    ['stdio', 'in-call'],
    ['sse', 'anywhere'],
    ['http', 'anywhere'],
  ] as const)('is the conversation’s own over %s where the server asks %s', (kind, asks) => {
    const rules = rulesOf(kind, asks)
    const seat = findSlot({ session: 's', client: one }, rules)
    expect(seat).toMatchObject({ conversation: 'c-1', isExclusive: false })
    expect(seat?.identity).toMatchObject({ capabilities: FORM, clientInfo: { name: 'client' }, isOneClient: true })
    expect(seat?.name).not.toBe(nameFor(other, rules))
    expect(seat?.name).toBe(nameFor(clientOf(FORM, 'c-1'), rules))
  })

  it('is shared over HTTP by all who declare the same, where a question comes on the stream of its call', () => {
    const rules = rulesOf('http', 'in-call')
    expect(nameFor(one, rules, 'a')).toBe(nameFor(other, rules, 'b'))
    expect(nameFor(one, rules)).not.toBe(nameFor(clientOf({ sampling: {} }, 'c-1'), rules))
    expect(findSlot({ session: 's', client: one }, rules)?.identity).toEqual({
      clientInfo: GATEWAY,
      capabilities: FORM,
    })
  })

  it('is a client’s own over HTTP when it has roots, which are asked for at any time', () => {
    const rules = rulesOf('http', 'in-call')
    expect(nameFor(clientOf(ROOTS, 'c-1'), rules)).not.toBe(nameFor(clientOf(ROOTS, 'c-2'), rules))
  })

  it('is for one call at a time where there is no conversation', () => {
    expect(findSlot({ session: 's', client: clientOf(FORM) }, rulesOf('stdio', 'anywhere'))?.isExclusive).toBe(true)
    expect(findSlot({ session: 's', client: clientOf(FORM) }, rulesOf('http', 'in-call'))?.isExclusive).toBe(false)
  })

  it('is one for all who can be asked nothing, and tells the server so', () => {
    const rules = rulesOf('stdio', 'anywhere')
    expect(nameFor(clientOf({}, 'c-1'), rules, 'a')).toBe(nameFor(undefined, rules, 'b'))
    expect(findSlot({ session: 's' }, rules)?.identity.capabilities).toEqual({})
    const apart = rulesOf('stdio', 'anywhere', true)
    expect(nameFor(undefined, apart, 'a')).not.toBe(nameFor(undefined, apart, 'b'))
  })
})
