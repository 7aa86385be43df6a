import { describe, expect, it } from 'vitest'
import { Cancellation } from './cancellation.ts'

describe('a cancellation', () => {
  it('tells its listener once, with the first reason', () => {
    const heard: string[] = []
    const cancellation = new Cancellation()
    cancellation.onCancel((reason) => heard.push(reason))
    expect(cancellation.reason).toBeUndefined()
    cancellation.cancel('first')
    cancellation.cancel('second')
    expect(heard).toEqual(['first'])
    expect(cancellation.reason).toBe('first')
  })

  it('tells a listener that comes too late at once', () => {
    const heard: string[] = []
    const cancellation = new Cancellation()
    cancellation.cancel('early')
    cancellation.onCancel((reason) => heard.push(reason))
    expect(heard).toEqual(['early'])
  })

  it('tells only the last listener, and none when that one left', () => {
    const heard: string[] = []
    const cancellation = new Cancellation()
    cancellation.onCancel(() => heard.push('one'))
    cancellation.onCancel(() => heard.push('two'))
    cancellation.onCancel(undefined)
    cancellation.cancel('over')
    expect(heard).toEqual([])
  })

  it('lets a listener leave while it is being told', () => {
    const heard: string[] = []
    const cancellation = new Cancellation()
    cancellation.onCancel((reason) => {
      cancellation.onCancel(undefined)
      heard.push(reason)
    })
    cancellation.cancel('over')
    expect(heard).toEqual(['over'])
  })
})
