import type { JsonObject } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Offer } from '../../catalog/catalog.ts'
import { ANN } from '../../pipeline/pipeline.test-kit.ts'
import { ChangeHub } from './change-hub.ts'

function listening(hub: ChangeHub, wants: { tools?: boolean } = {}, principal = ANN) {
  const heard: JsonObject[] = []
  const leave = hub.add({
    principal,
    wants: { tools: wants.tools ?? false, resources: false, prompts: false },
    notify: (notification) => heard.push(notification),
  })
  return { heard, leave }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('news of changes', () => {
  it('reach those who want them, each kind for itself', () => {
    const hub = new ChangeHub()
    const tools = listening(hub, { tools: true })
    const nobody = listening(hub)
    hub.listsChanged({ tools: true, resources: true, prompts: false })
    vi.runAllTimers()
    hub.listsChanged({ tools: false, resources: true, prompts: true })
    vi.runAllTimers()
    expect(tools.heard).toEqual([{ method: 'notifications/tools/list_changed' }])
    expect(nobody.heard).toEqual([])
  })

  it('of a change that some see reach those alone, whatever else happens meanwhile', () => {
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
    expect([own?.heard.length, other?.heard.length]).toEqual([1, 0])
    turn(before)
    turn(before)
    hub.listsChanged({ tools: true, resources: false, prompts: false })
    vi.runAllTimers()
    expect([own?.heard.length, other?.heard.length]).toEqual([2, 1])
  })

  it('that come in quick succession are told once', () => {
    const hub = new ChangeHub()
    const { heard } = listening(hub, { tools: true })
    for (let index = 0; index < 1_000; index++) hub.listsChanged({ tools: true, resources: false, prompts: false })
    expect(heard).toEqual([])
    vi.runAllTimers()
    expect(heard).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('reach nobody who left, not even one who leaves while they are told', () => {
    const hub = new ChangeHub()
    const heard: string[] = []
    const wants = { tools: true, resources: true, prompts: true }
    const leave = hub.add({
      principal: ANN,
      wants,
      notify: ({ method }) => {
        heard.push(String(method))
        leave()
      },
    })
    hub.listsChanged({ tools: true, resources: true, prompts: true })
    vi.runAllTimers()
    expect(heard).toHaveLength(1)
    leave()
    expect(hub.size).toBe(0)
  })
})
