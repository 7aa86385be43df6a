import { describe, expect, it } from 'vitest'
import { roundsOf } from '../../harness/rounds.ts'
import { promise } from '../../promises.ts'
import { canSandbox } from '../../sandbox/sandbox-world.ts'
import { raceSandboxes } from './sandbox-race.ts'

const ROUNDS = roundsOf({ few: 3, many: 8, all: 300 })

describe.skipIf(!canSandbox())('sandboxes of bubblewrap', () => {
  it(`${promise('SEN-9')} ${promise('SEN-24')} no interleaving lets a call or a program reach more than its session may`, async () => {
    const counts = await raceSandboxes({ rounds: ROUNDS, roundsPerGateway: 25, maxLanes: 2 })
    expect(counts.reached).toBeGreaterThan(0)
  }, 7_200_000)
})
