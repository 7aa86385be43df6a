import { Cancellation, type Json } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { Offer } from '../catalog/catalog.ts'
import type { Client } from '../upstream/upstream.ts'
import type { Call } from './call.ts'
import { ClientRoots } from './client-roots.ts'
import { ANN } from './pipeline.test-kit.ts'
import type { JudgedCall } from './steps/call-decider.ts'

const clientOf = (conversation: string | undefined): Client =>
  ({ conversation, capabilities: { roots: {} } }) as unknown as Client

const callOf = (changes: Partial<Call> = {}): Call => ({
  ...{ id: 'c', traceId: 't', principal: ANN, method: 'tools/call', params: {}, cancellation: new Cancellation() },
  offer: { server: 'files' } as Offer,
  client: clientOf('one'),
  ...changes,
})

const answer = (...uris: readonly Json[]): Json => ({ roots: uris.map((uri) => ({ uri })) })
const judged = (judgesPaths: boolean): JudgedCall =>
  ({ context: { rules: { dependsOnPaths: judgesPaths } } }) as unknown as JudgedCall
const yes = (): boolean => true

describe('the roots of clients', () => {
  it('belong to one conversation and one server', async () => {
    const roots = new ClientRoots()
    expect(roots.rootsFor(callOf())).toEqual([])
    expect(await roots.admit(callOf(), answer('file:///a'), yes)).toBe(true)
    expect(roots.rootsFor(callOf())).toEqual(['file:///a'])
    expect(roots.rootsFor(callOf({ client: clientOf('other') }))).toEqual([])
    expect(roots.rootsFor(callOf({ client: clientOf(undefined) }))).toEqual([])
    expect(roots.rootsFor(callOf({ offer: { server: 'others' } as Offer }))).toEqual([])
    expect(roots.rootsFor(callOf({ principal: { ...ANN, session: 's2' } }))).toEqual([])
  })

  it('stay known when the client replaces them, until the conversation ends', async () => {
    const roots = new ClientRoots()
    await roots.admit(callOf(), answer('file:///a'), yes)
    await roots.admit(callOf(), answer('file:///b'), yes)
    await roots.admit(callOf({ client: clientOf('two') }), answer('file:///c'), yes)
    expect(roots.rootsFor(callOf())).toEqual(['file:///a', 'file:///b'])
    roots.forget('one')
    expect(roots.rootsFor(callOf())).toEqual([])
    expect(roots.rootsFor(callOf({ client: clientOf('two') }))).toEqual(['file:///c'])
  })

  it('include those that a modern client sends in the call itself', async () => {
    const roots = new ClientRoots()
    const params = { inputResponses: { q1: answer('file:///x'), q2: { action: 'accept' } } }
    expect(roots.rootsFor(callOf({ params }))).toEqual(['file:///x'])
    await roots.admit(callOf(), answer('file:///a'), yes)
    expect(roots.rootsFor(callOf({ params }))).toEqual(['file:///a', 'file:///x'])
  })

  it('are not ignored if they are malformed, although they cannot be checked', async () => {
    const roots = new ClientRoots()
    await roots.admit(callOf(), { roots: [{ uri: 5 }, 'x'] }, yes)
    expect(roots.rootsFor(callOf())).toEqual(['\0'])
    for (const none of [null, [], {}, { roots: 'x' }])
      expect(await new ClientRoots().admit(callOf(), none, () => false)).toBe(true)
  })

  it('are withheld from a server while one of its calls would not be allowed with them', async () => {
    const roots = new ClientRoots()
    const seen: (readonly string[])[] = []
    const refuse = (running: { readonly asked: Call }): boolean => {
      seen.push(roots.rootsFor(running.asked))
      return false
    }
    const running = roots.begin(callOf(), judged(true))
    expect(await roots.admit(callOf(), answer('file:///a'), refuse)).toBe(false)
    expect(seen).toEqual([['file:///a']])
    // The same again: nobody may get past by asking twice.
    expect(await roots.admit(callOf(), answer('file:///a'), refuse)).toBe(false)
    if (running) roots.end(running)
    expect(await roots.admit(callOf(), answer('file:///a'), refuse)).toBe(true)
  })

  it('do not affect calls of others, calls without path rules, and calls of a client without roots', async () => {
    const roots = new ClientRoots()
    roots.begin(callOf({ client: clientOf('other') }), judged(true))
    expect(roots.begin(callOf(), judged(false))).toBeUndefined()
    const bare = { conversation: 'one', capabilities: {} } as unknown as Client
    expect(roots.begin(callOf({ client: bare }), judged(true))).toBeUndefined()
    expect(roots.begin(callOf({ client: undefined }), judged(true))).toBeUndefined()
    expect(await roots.admit(callOf(), answer('file:///a'), () => false)).toBe(true)
  })

  it('are not passed on if there are too many to check', async () => {
    const roots = new ClientRoots()
    const many = Array.from({ length: 32 }, (_, at) => `file:///${at}`)
    expect(await roots.admit(callOf(), answer(...many), yes)).toBe(true)
    expect(await roots.admit(callOf(), answer('file:///one-more'), yes)).toBe(false)
    expect(roots.rootsFor(callOf())).toHaveLength(32)
  })
})
