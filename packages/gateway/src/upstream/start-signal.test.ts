import { describe, expect, it } from 'vitest'
import { StartSignal } from './start-signal.ts'

const AN_HOUR = 3_600_000

describe('the signal to start the servers', () => {
  it('comes automatically when the process is idle, and also if it never is', async () => {
    await new StartSignal(1).wait()
    const busy = setInterval(() => {
      for (const until = performance.now() + 15; performance.now() < until; );
    }, 1)
    await new StartSignal(1).wait()
    clearInterval(busy)
  })

  it('comes as soon as a server is needed, before or during the wait', async () => {
    const early = new StartSignal(AN_HOUR)
    early.trigger()
    await early.wait()
    const asked = new StartSignal(AN_HOUR)
    const waiting = asked.wait()
    asked.trigger()
    asked.trigger()
    expect(await waiting).toBeUndefined()
  })
})
