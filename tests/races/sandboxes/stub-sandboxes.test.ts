import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { roundsOf } from '../../harness/rounds.ts'
import { promise } from '../../promises.ts'
import { canSandbox } from '../../sandbox/sandbox-world.ts'
import { Random, readSeed } from '../random.ts'
import { raceSandboxes } from './sandbox-race.ts'
import { StubDriver } from './stub-driver.ts'

const ROUNDS = roundsOf({ few: 30, many: 100, all: 10_000 })

const { driver } = vi.hoisted((): { driver: { current?: StubDriver } } => ({ driver: {} }))
vi.mock(import('../../../packages/gateway/src/sandbox/drivers/bubblewrap.ts'), () => ({
  createBubblewrapDriver: () => {
    driver.current?.close()
    driver.current = new StubDriver()
    return driver.current
  },
}))

/** Some names take their time, so that labels rise while connections are being made. */
vi.mock(import('../../../packages/gateway/src/sandbox/egress/name-lookup.ts'), async (original) => ({
  ...(await original()),
  resolveBySystem: async () => {
    if (lookups.happens(0.2)) await delay(lookups.between(1, 40))
    return ['127.0.0.1']
  },
}))
const lookups = new Random(readSeed())

/** At the moment in which a client has private data, every program of its session sends what it can. */
function leakEverything(session: string): void {
  for (const program of driver.current?.programs ?? []) {
    if (program.session !== session) continue
    program.leak('at-once')
  }
}

// socat carries their stdin and stdout.
describe.skipIf(!canSandbox())('sandboxes without isolation, whose programs know the moment', () => {
  afterAll(() => driver.current?.close())

  it(`${promise('SEN-9')} ${promise('SEN-7')} no interleaving lets a call or a program reach more than its session may`, async () => {
    const counts = await raceSandboxes({ rounds: ROUNDS, roundsPerGateway: 250, maxLanes: 8, onRaised: leakEverything })
    // The schedules do what they are for.
    expect(counts.reached).toBeGreaterThan(ROUNDS)
    expect(counts.refused).toBeGreaterThan(ROUNDS / 2)
    expect(counts.raises).toBeGreaterThan(ROUNDS / 2)
    expect(counts['allowed arrivals after a raise']).toBeGreaterThan(0)
    expect(counts['arrivals of the wide server']).toBeGreaterThan(ROUNDS)
  }, 7_200_000)
})
