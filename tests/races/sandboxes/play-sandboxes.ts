import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { Caller, type DirectCall } from '../caller.ts'
import type { Raise } from '../history.ts'
import type { World } from '../play-round.ts'
import type { Random } from '../random.ts'
import type { EscapeHistory } from './escape-history.ts'
import type { Outside, Place } from './outside.ts'

/** The gateway that is raced against, and the listener outside of its sandboxes. */
export interface SandboxWorld extends Pick<World, 'mcp' | 'api'> {
  readonly direct: DirectCall
  readonly history: EscapeHistory
  readonly outside: Outside
  /** Called at the moment in which a client, or the operator, has the answer that says that a label has risen. */
  readonly onRaised?: ((session: string) => void) | undefined
}

/** Servers in sandboxes of their own. Each leaks; two of them have private data, too. */
const SERVERS = ['one', 'two', 'wide', 'desk', 'vault'] as const
const READ = /"read (menu|vault|secret|file|tell)"|^raised$/

/** How many sessions race, what they do, and in which order, depends on the seed alone. */
export async function playSandboxes(world: SandboxWorld, random: Random, round: string): Promise<void> {
  // Users have sessions of the same names: a label must not pass from one user to the other.
  const owners = Array.from({ length: random.between(1, 3) }, (_, at) => ({
    user: ['ada', 'bob'][at % 2] ?? '',
    session: `s-${round}-${at >> 1}`,
  }))
  await Promise.all(
    owners.map((owner) => new SandboxedSession(world, new Caller(owner, { ...world, random }), random).run()),
  )
}

class SandboxedSession {
  readonly #world: SandboxWorld
  readonly #caller: Caller
  readonly #random: Random
  /** How many calls each server has had. */
  readonly #calls = new Map<string, number>()
  readonly #running: Promise<void>[] = []
  readonly #servers: readonly string[]
  #count = 0
  /** A call was answered. */
  #isKnown = false

  constructor(world: SandboxWorld, caller: Caller, random: Random) {
    this.#world = world
    this.#caller = caller
    this.#random = random
    const first = random.between(0, SERVERS.length - 1)
    this.#servers = [...SERVERS, ...SERVERS].slice(first, first + random.between(1, 3))
  }

  async run(): Promise<void> {
    const random = this.#random
    const steps = random.between(3, 8)
    const raiseAt = random.happens(0.8) ? random.between(0, steps - 1) : -1
    for (let step = 0; step < steps; step++) {
      await this.#pause()
      const isRaising = step === raiseAt || (raiseAt >= 0 && step > raiseAt && random.happens(0.15))
      const work = isRaising ? this.#raise() : this.#act()
      this.#running.push(work)
      if (random.happens(0.4)) await work
    }
    await Promise.all(this.#running)
    // Whatever happened, one more to each place after the last answer.
    for (const place of ['open', 'listed'] as const) await this.#reach(this.#pickServer(), place)
    await Promise.all([...this.#calls.keys()].map((server) => this.#end(server)))
  }

  async #pause(): Promise<void> {
    const random = this.#random
    if (random.happens(0.4)) return
    if (random.happens(0.3)) await delay(random.between(1, 10))
    for (let turns = random.between(0, 6); turns > 0; turns--) await turn()
  }

  #act(): Promise<void> {
    const random = this.#random
    const [kind, server] = [random.next(), this.#pickServer()]
    const place = random.pick<Place>(['open', 'listed'])
    const { outside } = this.#world
    if (kind < 0.4) return this.#reach(server, place)
    if (kind < 0.65) return this.#tell(server, 'hold', { place: outside.hostOf(place) }, /"(held|refused)/)
    if (kind < 0.8) return this.#tell(server, 'leak', {}, /"leaked/)
    if (kind < 0.95)
      return this.#tell(server, 'flood', { places: [outside.hostOf('open'), outside.hostOf('listed')] }, /"flooding"/)
    return this.#tell(server, 'menu', {}, READ)
  }

  #pickServer(): string {
    return this.#random.pick(this.#servers)
  }

  /** The whole answer as text. */
  #call(server: string, tool: string, args: object): Promise<string> {
    this.#calls.set(server, (this.#calls.get(server) ?? 0) + 1)
    const { user, session } = this.#caller.owner
    const answering = this.#caller.call(`${server}_${tool}`, { session: `${user}/${session}`, ...args }).catch(String)
    return answering.finally(() => {
      this.#isKnown = true
    })
  }

  async #tell(server: string, tool: string, args: object, worked: RegExp): Promise<void> {
    const answer = await this.#call(server, tool, { id: tool, ...args })
    if (!worked.test(answer)) this.#world.history.failures.push(`${server}_${tool} (${this.#caller.name}): ${answer}`)
  }

  async #reach(server: string, place: Place): Promise<void> {
    const { history, outside } = this.#world
    const id = `${this.#caller.name}-${server}-${this.#count++}`
    const send = { session: this.#caller.name, server, id, place, sentAt: history.now() }
    const way = this.#random.pick(['tunnel', 'request'])
    history.sends.push(send)
    const answer = await this.#call(server, 'reach', { id, place: outside.hostOf(place), way })
    Object.assign(send, { answeredAt: history.now(), answer: answer.slice(0, 400) })
  }

  async #raise(): Promise<void> {
    const { history, api, outside, onRaised } = this.#world
    const level = this.#random.pick(['CONFIDENTIAL', 'SECRET'] as const)
    const { user, session } = this.#caller.owner
    const name = this.#caller.name
    const ways: readonly (readonly [by: string, level: Raise['level'], raise: () => Promise<string>])[] = [
      ['config.yaml', 'CONFIDENTIAL', () => this.#call('vault', 'vault', {})],
      ['tools.yaml', 'SECRET', () => this.#call('desk', 'secret', {})],
      ['sensitive_paths', 'CONFIDENTIAL', () => this.#call('desk', 'file', { path: '/srv/hr/salaries.txt' })],
      ['what a trusted server says', level, () => this.#call('desk', 'tell', { level })],
      [
        'operator',
        level,
        () => api('POST', '/sessions/raise', { user, session, sensitivity: level }).then(() => 'raised', String),
      ],
    ]
    // An operator finds only sessions that have called.
    const [by, to, act] = this.#random.pick(this.#isKnown ? ways : ways.slice(0, -1))
    const raise: Raise = { session: name, by, level: to, begunAt: history.now() }
    history.raises.push(raise)
    const answer = await act()
    // An answer that carries the data, or an operator's, says that the label is in force.
    if (!READ.test(answer)) return void history.failures.push(`${name} could not be raised by ${by}: ${answer}`)
    raise.acknowledgedAt = history.now()
    onRaised?.(name)
    await outside.settle()
    raise.settledAt = history.now()
  }

  /** The process has lived on, and knows of every call. */
  async #end(server: string): Promise<void> {
    await this.#call(server, 'rest', {})
    const answer = await this.#call(server, 'count', {})
    // Its process has the network of this machine, so another one may have taken its place.
    if (server === 'wide') return
    const expected = this.#calls.get(server) ?? 0
    this.#world.history.remembered.push({ session: this.#caller.name, server, expected, answer })
  }
}
