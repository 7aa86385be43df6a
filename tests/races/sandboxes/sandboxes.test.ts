import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { roundsOf } from '../../harness/rounds.ts'
import { promise } from '../../promises.ts'
import { canSandbox } from '../../sandbox/sandbox-world.ts'
import { SandboxRace } from './sandbox-race.ts'

const ROUNDS = roundsOf({ few: 3, many: 8, all: 300 })
const LANES = 3

describe.skipIf(!canSandbox())('sandboxes of bubblewrap', () => {
  let race: SandboxRace
  beforeAll(async () => {
    race = await SandboxRace.open()
  })
  afterAll(() => race.close())

  it(`${promise('SEN-9')} ${promise('SEN-24')} no interleaving lets a call or a program reach more than its session may`, async () => {
    const counts = await race.run(ROUNDS, LANES)
    expect(counts.reached).toBeGreaterThan(ROUNDS)
    expect(counts.raises).toBeGreaterThan(0)
  }, 7_200_000)
})
