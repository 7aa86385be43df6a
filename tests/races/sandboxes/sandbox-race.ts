import { join } from 'node:path'
import { expect } from 'vitest'
import { REPOSITORY } from '../../harness/run-gateway.ts'
import { openRaceGateway, type RaceGateway } from '../race-gateway.ts'
import { RACE_CONFIG } from '../race-home.ts'
import { Random, readSeed } from '../random.ts'
import { countEscapes, EscapeHistory } from './escape-history.ts'
import { findEscapes } from './find-escapes.ts'
import { Outside } from './outside.ts'
import { playSandboxes, type SandboxWorld } from './play-sandboxes.ts'

const OPEN = { requires_approval: false }

/** Rounds that are checked together, and how many of them are played at the same time. */
const ROUNDS_OF_HISTORY = 10
/** One at a time: what another session repeats cannot hide an omission. Many: more interleavings. */
const LANES = [1, 1, 2, 8]

interface RaceParts {
  readonly gateway: RaceGateway
  readonly outside: Outside
  readonly current: { history: EscapeHistory }
  readonly onRaised: SandboxWorld['onRaised']
  readonly seed: number
}

interface Rounds {
  readonly first: number
  readonly until: number
  readonly maxLanes: number
}

export interface RaceOptions {
  readonly rounds: number
  /** Each session leaves processes, which live until they are idle or the gateway closes. */
  readonly roundsPerGateway: number
  readonly maxLanes: number
  readonly onRaised?: SandboxWorld['onRaised']
}

/** Plays rounds, with a new gateway now and then, and expects that nothing escapes. Returns how often what happened. */
export async function raceSandboxes(options: RaceOptions): Promise<Readonly<Record<string, number>>> {
  const { rounds, roundsPerGateway, maxLanes, onRaised } = options
  const seed = readSeed()
  const begun = performance.now()
  const total: Record<string, number> = {}
  for (let first = 0; first < rounds; first += roundsPerGateway) {
    const race = await SandboxRace.open({ seed, onRaised })
    try {
      const counts = await race.run({ first, until: Math.min(rounds, first + roundsPerGateway), maxLanes })
      for (const [what, count] of Object.entries(counts)) total[what] = (total[what] ?? 0) + count
    } finally {
      await race.close()
    }
  }
  const seconds = Math.round((performance.now() - begun) / 100) / 10
  const { user, system } = process.cpuUsage()
  const ofCpu = `${(user / 1e6).toFixed(0)} + ${(system / 1e6).toFixed(0)} of CPU`
  console.log(`seed ${seed}: ${rounds} rounds in ${seconds} s (${ofCpu}): ${JSON.stringify(total)}`)
  return total
}

/** A gateway whose servers are all in sandboxes, and the listener outside. */
class SandboxRace {
  readonly #parts: RaceParts

  constructor(parts: RaceParts) {
    this.#parts = parts
  }

  static async open({ seed, onRaised }: Pick<RaceParts, 'seed' | 'onRaised'>): Promise<SandboxRace> {
    const current = { history: new EscapeHistory() }
    const outside = await Outside.open(() => current.history)
    const server = (name: string) => ({
      command: process.execPath,
      args: [join(REPOSITORY, 'tests/fixtures/leaking-server.mjs'), name],
      sandbox: 'auto',
    })
    const gateway = await openRaceGateway({
      config: {
        ...RACE_CONFIG,
        ...{ sandbox: { proxied: { allow: outside.allow } } },
        mcp_servers: {
          one: server('one'),
          wide: { ...server('wide'), network: 'host' },
          two: server('two'),
          desk: { ...server('desk'), trusted: true },
          vault: server('vault'),
        },
      },
      tools: {
        tools: {
          'desk/secret': { ...OPEN, sensitivity: 'SECRET' },
          'desk/file': { ...OPEN, sensitive_paths: ['/srv/hr/**'] },
          'vault/vault': { ...OPEN, sensitivity: 'CONFIDENTIAL' },
          ...Object.fromEntries(['one', 'two', 'wide', 'desk', 'vault'].map((id) => [`${id}/*`, OPEN])),
        },
      },
    })
    return new SandboxRace({ gateway, outside, current, onRaised, seed })
  }

  async run({ first, until: end, maxLanes }: Rounds): Promise<Readonly<Record<string, number>>> {
    const total: Record<string, number> = {}
    let next = first
    while (next < end) {
      const history = new EscapeHistory()
      this.#parts.current.history = history
      const { gateway, outside, onRaised, seed } = this.#parts
      const until = Math.min(end, next + ROUNDS_OF_HISTORY)
      const world = { ...gateway, history, outside, onRaised }
      const lane = async (): Promise<void> => {
        while (next < until) {
          const round = next++
          await playSandboxes(world, new Random(seed * 100_003 + round), `${seed}-${round}`)
        }
      }
      const lanes = Math.min(maxLanes, new Random(seed + next).pick(LANES))
      await Promise.all(Array.from({ length: lanes }, lane))
      await outside.settle()
      expect(findEscapes(history), `repeat it with SALLYPORT_SEED=${seed}`).toEqual([])
      for (const [what, count] of Object.entries(countEscapes(history))) total[what] = (total[what] ?? 0) + count
    }
    return total
  }

  async close(): Promise<void> {
    await this.#parts.gateway.close()
    await this.#parts.outside.close()
  }
}
