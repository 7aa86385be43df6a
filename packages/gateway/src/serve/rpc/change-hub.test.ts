import type { JsonObject } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Offer } from '../../catalog/catalog.ts'
import { ANN } from '../../pipeline/pipeline.test-kit.ts'
import type { Client, ListReader } from '../../upstream/upstream.ts'
import { ChangeHub } from './change-hub.ts'

function listening(hub: ChangeHub, wants: { tools?: boolean } = {}, principal = ANN) {
  const received: JsonObject[] = []
  const leave = hub.add({
    principal,
    wants: { tools: wants.tools ?? false, resources: false, prompts: false },
    notify: (notification) => received.push(notification),
  })
  return { received, leave }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('notifications of changes', () => {
  it('reach the clients that want them, separately for each kind', () => {
    const hub = new ChangeHub()
    const tools = listening(hub, { tools: true })
    const nobody = listening(hub)
    hub.listsChanged({ tools: true, resources: true, prompts: false })
    vi.runAllTimers()
    hub.listsChanged({ tools: false, resources: true, prompts: true })
    vi.runAllTimers()
    expect(tools.received).toEqual([{ method: 'notifications/tools/list_changed' }])
    expect(nobody.received).toEqual([])
  })

  it('that a server announced reach only the clients that may see it', () => {
    const hub = new ChangeHub()
    const [own, other] = [ANN, { ...ANN, profile: 'other' }].map((who) => listening(hub, { tools: true }, who))
    for (let twice = 0; twice < 2; twice++)
      hub.listsChanged({ tools: true, resources: false, prompts: false }, ({ profile }) => profile !== 'other')
    vi.runAllTimers()
    expect([own?.received.length, other?.received.length]).toEqual([1, 0])
  })

  it('of a change that only some clients see reach only those, whatever else changes', () => {
    const hub = new ChangeHub()
    const [own, other] = [ANN, { ...ANN, profile: 'other' }].map((who) => listening(hub, { tools: true }, who))
    const [before, after] = [{} as Offer, {} as Offer]
    let seen = before
    const sightOf = ({ profile }: { profile: string }) => ({
      ...{ prompts: [], resources: [] },
      tools: [profile === 'other' ? before : seen],
    })
    const turn = (now: Offer): void =>
      hub.applyChange(sightOf, () => {
        seen = now
      })
    turn(after)
    hub.listsChanged({ tools: false, resources: true, prompts: false })
    vi.runAllTimers()
    expect([own?.received.length, other?.received.length]).toEqual([1, 0])
    turn(before)
    turn(before)
    hub.listsChanged({ tools: true, resources: false, prompts: false })
    vi.runAllTimers()
    expect([own?.received.length, other?.received.length]).toEqual([2, 1])
  })

  it('of the own lists of a conversation reach its client alone', () => {
    const hub = new ChangeHub()
    const received: string[] = []
    for (const conversation of ['one', 'two', undefined])
      hub.add({
        principal: ANN,
        ...(conversation && { client: () => ({ conversation }) as Client }),
        wants: { tools: true, resources: true, prompts: true },
        notify: ({ method }) => received.push(`${conversation} ${method}`),
      })
    const concerns = ({ client }: ListReader): boolean => client?.conversation === 'two'
    hub.ownListsChanged({ lists: ['tools', 'resourceTemplates'], concerns })
    vi.runAllTimers()
    expect(received).toEqual(['two notifications/tools/list_changed', 'two notifications/resources/list_changed'])
  })

  it('in quick succession are sent once', () => {
    const hub = new ChangeHub()
    const { received } = listening(hub, { tools: true })
    for (let index = 0; index < 1_000; index++) hub.listsChanged({ tools: true, resources: false, prompts: false })
    expect(received).toEqual([])
    vi.runAllTimers()
    expect(received).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('do not reach a client that left, not even one that leaves while they are sent', () => {
    const hub = new ChangeHub()
    const received: string[] = []
    const wants = { tools: true, resources: true, prompts: true }
    const leave = hub.add({
      principal: ANN,
      wants,
      notify: ({ method }) => {
        received.push(String(method))
        leave()
      },
    })
    hub.listsChanged({ tools: true, resources: true, prompts: true })
    vi.runAllTimers()
    expect(received).toHaveLength(1)
    leave()
    expect(hub.size).toBe(0)
  })
})
