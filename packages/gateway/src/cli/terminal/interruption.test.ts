import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openInterruption } from './interruption.ts'

// The end that is forced after some seconds must not come in the middle of another test.
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function interruption(isTerminal: (fd: number) => boolean) {
  let time = 1_000
  const signals = new EventEmitter()
  const process = {
    on: (name: NodeJS.Signals, listener: () => void) => signals.on(name, listener),
    stdout: new EventEmitter() as NodeJS.Process['stdout'],
    exit: () => {
      throw new Error('It ended at once.')
    },
  }
  const { signal } = openInterruption(process, { isTerminal, now: () => time })
  return {
    signal,
    pass: (ms: number) => {
      time += ms
    },
    send: (name: NodeJS.Signals) => expect(signals.emit(name)).toBe(true),
  }
}

describe('Ctrl-C', () => {
  it('counts once when npm forwards what the terminal has already sent', () => {
    const { signal, send, pass } = interruption(() => true)
    send('SIGINT')
    pass(400)
    send('SIGINT')
    send('SIGINT')
    expect(signal.aborted).toBe(true)
  })

  it('ends the process at once when it is pressed again', () => {
    const { send, pass } = interruption(() => true)
    send('SIGINT')
    pass(500)
    expect(() => send('SIGINT')).toThrow('It ended at once.')
  })
})

describe('a hangup', () => {
  it('ends a command that has a terminal', () => {
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
