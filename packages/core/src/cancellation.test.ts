import { describe, expect, it } from 'vitest'
import { Cancellation } from './cancellation.ts'

describe('a cancellation', () => {
  it('notifies its listener once, with the first reason', () => {
    const received: string[] = []
    const cancellation = new Cancellation()
    cancellation.onCancel((reason) => received.push(reason))
    expect(cancellation.reason).toBeUndefined()
    cancellation.cancel('first')
    cancellation.cancel('second')
    expect(received).toEqual(['first'])
    expect(cancellation.reason).toBe('first')
  })

  it('notifies a late listener at once', () => {
    const received: string[] = []
    const cancellation = new Cancellation()
    cancellation.cancel('early')
    cancellation.onCancel((reason) => received.push(reason))
    expect(received).toEqual(['early'])
  })

  it('notifies only the last listener, and none if that one was removed', () => {
    const received: string[] = []
    const cancellation = new Cancellation()
    cancellation.onCancel(() => received.push('one'))
    cancellation.onCancel(() => received.push('two'))
    cancellation.onCancel(undefined)
    cancellation.cancel('over')
    expect(received).toEqual([])
  })

  it('allows a listener to remove itself while it is notified', () => {
    const received: string[] = []
    const cancellation = new Cancellation()
    cancellation.onCancel((reason) => {
      cancellation.onCancel(undefined)
      received.push(reason)
    })
    cancellation.cancel('over')
    expect(received).toEqual(['over'])
  })
})
