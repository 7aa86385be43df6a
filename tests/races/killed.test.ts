import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findLastingPort } from '../harness/lasting-port.ts'
import { eventually } from '../harness/processes.ts'
import { roundsOf } from '../harness/rounds.ts'
import { makePlace, type Place, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { findViolations } from './find-violations.ts'
import { Counts, History } from './history.ts'
import { playRound, readLabels, type World } from './play-round.ts'
import { RACE_CONFIG, RACE_TOOLS } from './race-home.ts'
import { Random, readSeed } from './random.ts'

const ROUNDS = roundsOf({ few: 4, many: 24, all: 300 })
/** Each has a gateway of its own: one starts while calls race in the other. */
const LANES = 2
const WITNESS = join(REPOSITORY, 'tests/fixtures/witness-server.mjs')
/** Servers that the gateway starts, and those that run by themselves. */
const PIPES = ['vault', 'desk', 'sink'] as const
const REMOTES = ['local', 'normal', 'isolated'] as const
/** Two of them are instances of one. */
const SERVER_COUNT = 5
/** After more crashes than this, a gateway would leave a server alone for a while. */
const MAX_SERVER_KILLS = 2

const A_DAY = 86_400_000_000_000n

interface ServerView {
  readonly id: string
  readonly state: string
  readonly pid?: number
  readonly counterpart?: { readonly state: string }
}

const kill = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** A gateway as a process, its servers as processes, and a file in which the servers note what arrives. */
class Lane {
  readonly place: Place = makePlace()
  readonly counts = new Counts()
  readonly #notes = join(this.place.home, 'arrivals')
  readonly #remotes = new Map<string, { child: ChildProcess; port: number }>()
  readonly #random: Random
  #gateway: RunningGateway | undefined
  #history = new History()
  #read = 0
  /** In earlier rounds: a server that is started again gets its subscriptions again. */
  readonly #subscribedBefore = new Set<string>()
  #serverKills = 0

  constructor(random: Random) {
    this.#random = random
    writeFileSync(this.#notes, '')
  }

  async open(): Promise<void> {
    for (const name of REMOTES) await this.#startRemote(name, await findLastingPort())
    const pipe = (name: string) => ({ command: process.execPath, args: [WITNESS, name, this.#notes] })
    const url = (name: string): string => `http://127.0.0.1:${this.#remotes.get(name)?.port}/mcp`
    this.place.writeConfig({
      ...RACE_CONFIG,
      mcp_servers: {
        vault: { ...pipe('vault'), sensitivity: 'confidential', trusted: true },
        desk: { ...pipe('desk'), trusted: true },
        sink: pipe('sink'),
        local: { url: url('local') },
        pair: { url: url('normal'), url_isolated: url('isolated') },
      },
    })
    writeFileSync(join(this.place.home, 'tools.yaml'), JSON.stringify(RACE_TOOLS))
    await this.#start()
  }

  /** Calls race, something is killed meanwhile, and everything is looked at again. */
  async play(round: string): Promise<readonly string[]> {
    await this.#untilReady()
    this.#history = new History()
    const random = this.#random
    let hasRaised = () => {}
    const raised = new Promise<void>((resolve) => {
      hasRaised = resolve
    })
    const world: World = {
      mcp: () => this.#gateway?.mcp ?? '',
      history: this.#history,
      api: (method, path, body) => this.#api(method, path, body),
      onRaised: () => hasRaised(),
    }
    const playing = playRound(world, random, round)
    // Some gateways die at the moment in which a label is acknowledged: it must be on disk by then.
    const atLabel = random.happens(0.5)
    await Promise.race([atLabel ? raised : delay(random.between(0, 250)), playing])
    const mustBeGateway = atLabel || this.#serverKills >= MAX_SERVER_KILLS
    await this.#kill(mustBeGateway || random.happens(0.3) ? 'gateway' : 'server')
    const aftermath = await playing
    await aftermath.recheck()
    await readLabels(world)
    this.#readArrivals()
    this.counts.add(this.#history)
    return findViolations(this.#history)
  }

  async close(): Promise<void> {
    await this.#gateway?.stop()
    for (const { child } of this.#remotes.values()) await kill(child)
  }

  async #kill(victim: 'gateway' | 'server'): Promise<void> {
    const from = this.#history.now()
    if (victim === 'gateway') await this.#restartGateway()
    else await this.#killServer(this.#random.pick([...PIPES, ...REMOTES]))
    // A gateway may notice later that a server over HTTP was gone, so its calls may fail until the end of the round.
    const until = victim === 'gateway' ? this.#history.now() : from + A_DAY
    this.#history.disturbances.push({ from, until })
  }

  async #restartGateway(): Promise<void> {
    if (this.#gateway) await kill(this.#gateway.child)
    this.#serverKills = 0
    await this.#start()
  }

  async #killServer(name: string): Promise<void> {
    this.#serverKills++
    const remote = this.#remotes.get(name)
    if (remote === undefined) return this.#killPipe(name)
    await kill(remote.child)
    await this.#startRemote(name, remote.port)
    await this.#untilReady()
  }

  async #killPipe(name: string): Promise<void> {
    const pidOf = (servers: readonly ServerView[]) => servers.find(({ id }) => id === name)?.pid
    const pid = pidOf(await this.#servers())
    if (pid === undefined) throw new Error(`${name} has no process`)
    process.kill(pid, 'SIGKILL')
    await this.#untilReady((servers) => pidOf(servers) !== pid)
  }

  async #start(): Promise<void> {
    this.#gateway = await runGateway({ place: this.place, args: [] })
    await this.#untilReady()
  }

  async #startRemote(name: string, port: number): Promise<void> {
    const args = [WITNESS, name, this.#notes, '--port', String(port)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(createInterface({ input: child.stdout }), 'line')
    this.#remotes.set(name, { child, port })
  }

  async #untilReady(isRestarted: (servers: readonly ServerView[]) => boolean = () => true): Promise<void> {
    await eventually(
      () => this.#servers(),
      (servers) =>
        servers.length >= SERVER_COUNT &&
        servers.every(({ state, counterpart }) => state === 'ready' && (counterpart?.state ?? 'ready') === 'ready') &&
        isRestarted(servers),
    )
  }

  #servers(): Promise<readonly ServerView[]> {
    return this.#api('GET', '/servers').then(
      ({ servers }) => servers,
      () => [],
    )
  }

  async #api(method: string, path: string, body?: object): Promise<Record<string, any>> {
    const headers = {
      authorization: `Bearer ${this.#gateway?.token('operator')}`,
      'content-type': 'application/json',
    }
    const target = `${this.#gateway?.url}/api${path}`
    const answer = await fetch(target, { method, headers, body: body ? JSON.stringify(body) : null })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as Record<string, any>
  }

  #readArrivals(): void {
    const text = existsSync(this.#notes) ? readFileSync(this.#notes, 'utf8') : ''
    for (const line of text.slice(this.#read).split('\n').filter(Boolean)) {
      const [time = '0', at = '', mark = ''] = line.split(' ')
      if (this.#subscribedBefore.has(mark)) continue
      this.#history.arrive(mark, at, BigInt(time))
    }
    this.#read = text.length
    for (const { way, mark } of this.#history.attempts) if (way === 'subscribe') this.#subscribedBefore.add(mark)
  }
}

const seed = readSeed()
let lanes: readonly Lane[]

beforeAll(async () => {
  lanes = Array.from({ length: LANES }, (_, at) => new Lane(new Random(seed * LANES + at)))
  await Promise.all(lanes.map((lane) => lane.open()))
})

afterAll(async () => {
  await Promise.all(lanes.map((lane) => lane.close()))
})

it(`${promise('SEN-1')} ${promise('SEN-20')} kill -9 of the gateway or of servers lets nothing leave and lowers no label`, async () => {
  const begun = performance.now()
  let next = 0
  const run = async (lane: Lane): Promise<void> => {
    while (next < ROUNDS) {
      const round = next++
      expect(await lane.play(`${seed}-${round}`), `repeat it with SALLYPORT_SEED=${seed}`).toEqual([])
    }
  }
  await Promise.all(lanes.map(run))
  const seconds = Math.round((performance.now() - begun) / 100) / 10
  for (const { counts } of lanes) {
    console.log(`seed ${seed}: ${ROUNDS} rounds in ${seconds} s: ${counts}`)
    expect(counts.of('arrived')).toBeGreaterThan(0)
    expect(counts.of('killed')).toBeGreaterThan(0)
  }
}, 1_800_000)
