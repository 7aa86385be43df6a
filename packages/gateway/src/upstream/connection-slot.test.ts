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

describe('the connection slot for a request', () => {
  const one = clientOf(FORM, 'c-1')
  const other = clientOf(FORM, 'c-2')

  it('is undefined if the server never asked: all share one connection', () => {
    for (const kind of ['stdio', 'http', 'sse'] as const) expect(nameFor(one, rulesOf(kind, undefined))).toBeUndefined()
  })

  it('belongs to the session if the operator wants one for each', () => {
    const rules = rulesOf('stdio', undefined, true)
    expect(nameFor(one, rules)).toBe(nameFor(other, rules))
    expect(nameFor(one, rules, 'a')).not.toBe(nameFor(one, rules, 'b'))
  })

  it.each([
    ['stdio', 'anywhere'],
    ['stdio', 'in-call'],
    ['sse', 'anywhere'],
    ['http', 'anywhere'],
  ] as const)('belongs to the conversation over %s if the server asks %s', (kind, asks) => {
    const rules = rulesOf(kind, asks)
    const slot = findSlot({ session: 's', client: one }, rules)
    expect(slot).toMatchObject({ conversation: 'c-1', isExclusive: false })
    expect(slot?.identity).toMatchObject({ capabilities: FORM, clientInfo: { name: 'client' }, isOneClient: true })
    expect(slot?.name).not.toBe(nameFor(other, rules))
    expect(slot?.name).toBe(nameFor(clientOf(FORM, 'c-1'), rules))
  })

  it('is shared over HTTP by all who declare the same, if questions come on the stream of their call', () => {
    const rules = rulesOf('http', 'in-call')
    expect(nameFor(one, rules, 'a')).toBe(nameFor(other, rules, 'b'))
    expect(nameFor(one, rules)).not.toBe(nameFor(clientOf({ sampling: {} }, 'c-1'), rules))
    expect(findSlot({ session: 's', client: one }, rules)?.identity).toEqual({
      clientInfo: GATEWAY,
      capabilities: FORM,
    })
  })

  it('belongs to one client over HTTP if it has roots, which a server may ask for at any time', () => {
    const rules = rulesOf('http', 'in-call')
    expect(nameFor(clientOf(ROOTS, 'c-1'), rules)).not.toBe(nameFor(clientOf(ROOTS, 'c-2'), rules))
  })

  it('is for one call at a time if there is no conversation', () => {
    expect(findSlot({ session: 's', client: clientOf(FORM) }, rulesOf('stdio', 'anywhere'))?.isExclusive).toBe(true)
    expect(findSlot({ session: 's', client: clientOf(FORM) }, rulesOf('http', 'in-call'))?.isExclusive).toBe(false)
  })

  it('is a legacy one for legacy clients of a server that speaks both eras', () => {
    const rules = { ...rulesOf('http', undefined), mirrors: true }
    expect(findSlot({ session: 's', client: one }, rules)).toMatchObject({ era: 'legacy', isExclusive: false })
    expect(nameFor(one, rules, 'a')).toBe(nameFor(other, rules, 'b'))
    expect(nameFor(clientOf({}, 'c-1'), rules)).toBeDefined()
    expect(nameFor(clientOf(FORM), rules)).toBeUndefined()
    expect(nameFor(undefined, rules)).toBeUndefined()
  })

  it('is a legacy one over a pipe only if the client can be asked', () => {
    const rules = { ...rulesOf('stdio', 'anywhere'), mirrors: true }
    expect(findSlot({ session: 's', client: one }, rules)).toMatchObject({ era: 'legacy', conversation: 'c-1' })
    expect(nameFor(one, rules)).not.toBe(nameFor(other, rules))
    expect(nameFor(clientOf({}, 'c-1'), rules)).toBeUndefined()
    expect(nameFor(clientOf(FORM), rules)).toBeUndefined()
  })

  it('is shared by all clients that cannot be asked, and the server knows that', () => {
    const rules = rulesOf('stdio', 'anywhere')
    expect(nameFor(clientOf({}, 'c-1'), rules, 'a')).toBe(nameFor(undefined, rules, 'b'))
    expect(findSlot({ session: 's' }, rules)?.identity.capabilities).toEqual({})
    const apart = rulesOf('stdio', 'anywhere', true)
    expect(nameFor(undefined, apart, 'a')).not.toBe(nameFor(undefined, apart, 'b'))
  })
})
