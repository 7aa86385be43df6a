import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { openInterruption } from './interruption.ts'

function interruption(isTerminal: (fd: number) => boolean) {
  const signals = new EventEmitter()
  const process = {
    on: (name: NodeJS.Signals, listener: () => void) => signals.on(name, listener),
    stdout: new EventEmitter() as NodeJS.Process['stdout'],
    exit: () => {
      throw new Error('It ended at once.')
    },
  }
  const { signal } = openInterruption(process, isTerminal)
  return { signal, send: (name: NodeJS.Signals) => expect(signals.emit(name)).toBe(true) }
}

describe('a hangup', () => {
  it('ends what has a terminal to lose', () => {
    const { signal, send } = interruption((fd) => fd === 2)
    send('SIGHUP')
    expect(signal.aborted).toBe(true)
  })

  it('is survived under nohup, which leaves no terminal; SIGTERM is not', () => {
    const { signal, send } = interruption(() => false)
    send('SIGHUP')
    expect(signal.aborted).toBe(false)
    send('SIGTERM')
    expect(signal.aborted).toBe(true)
  })
})
