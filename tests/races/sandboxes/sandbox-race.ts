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
}

/** A gateway whose servers are all in sandboxes, and the listener outside. */
export class SandboxRace {
  readonly #gateway: RaceGateway
  readonly #outside: Outside
  readonly #onRaised: SandboxWorld['onRaised']
  readonly #current: { history: EscapeHistory }

  constructor(parts: RaceParts) {
    this.#gateway = parts.gateway
    this.#outside = parts.outside
    this.#current = parts.current
    this.#onRaised = parts.onRaised
  }

  static async open(onRaised?: SandboxWorld['onRaised']): Promise<SandboxRace> {
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
          ...Object.fromEntries(['one', 'two', 'desk', 'vault'].map((id) => [`${id}/*`, OPEN])),
        },
      },
    })
    return new SandboxRace({ gateway, outside, current, onRaised })
  }

  /** Plays rounds, and expects that nothing escapes. */
  async run(rounds: number, maxLanes: number): Promise<Readonly<Record<string, number>>> {
    const seed = readSeed()
    const begun = performance.now()
    const cpu = process.cpuUsage()
    const total: Record<string, number> = {}
    let next = 0
    while (next < rounds) {
      const history = new EscapeHistory()
      this.#current.history = history
      const until = Math.min(rounds, next + ROUNDS_OF_HISTORY)
      const world = { ...this.#gateway, history, outside: this.#outside, onRaised: this.#onRaised }
      const lane = async (): Promise<void> => {
        while (next < until) {
          const round = next++
          await playSandboxes(world, new Random(seed * 100_003 + round), `${seed}-${round}`)
        }
      }
      const lanes = Math.min(maxLanes, new Random(seed + next).pick(LANES))
      await Promise.all(Array.from({ length: lanes }, lane))
      await this.#outside.settle()
      expect(findEscapes(history), `repeat it with SALLYPORT_SEED=${seed}`).toEqual([])
      for (const [what, count] of Object.entries(countEscapes(history))) total[what] = (total[what] ?? 0) + count
    }
    const seconds = Math.round((performance.now() - begun) / 100) / 10
    const { user, system } = process.cpuUsage(cpu)
    const ofCpu = `${(user / 1e6).toFixed(0)} + ${(system / 1e6).toFixed(0)} of CPU`
    console.log(`seed ${seed}: ${rounds} rounds in ${seconds} s (${ofCpu}): ${JSON.stringify(total)}`)
    return total
  }

  async close(): Promise<void> {
    await this.#gateway.close()
    await this.#outside.close()
  }
}
