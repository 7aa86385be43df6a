import type { JsonObject } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ChangeHub } from './change-hub.ts'

function listening(hub: ChangeHub, wants: { tools?: boolean } = {}) {
  const heard: JsonObject[] = []
  const leave = hub.add({
    wants: { tools: wants.tools ?? false, resources: false, prompts: false },
    tell: (notification) => heard.push(notification),
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
      wants,
      tell: ({ method }) => {
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
