import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { Caller, type DirectCall } from './caller.ts'
import type { Attempt, History, Outcome, Raise, SeenLabel } from './history.ts'
import type { Random } from './random.ts'

/** The gateway that is raced against, and what the schedule can do to it. */
export interface World {
  /** Its address now: it may be started again at another one. */
  readonly mcp: () => string
  readonly history: History
  readonly direct?: DirectCall | undefined
  /** The admin API, as the operator. Rejects if it answers with an error. */
  api(method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, any>>
  /** Called at the moment in which the answer of a call that raised a label, or of the operator, is there. */
  onRaised?: (() => void) | undefined
  /** Resolves when the servers have read all that was written to them before. */
  settle?: (() => Promise<void>) | undefined
  /** Lets calls of a server wait in the gateway for a connection, until the returned function is called. */
  congest?: ((server: 'sink' | 'pair') => () => void) | undefined
}

interface Play extends World {
  readonly random: Random
  readonly nextMark: () => string
}

/** To which level a way raises, if that is fixed. */
const LEVELS: Readonly<Record<string, Raise['level']>> = {
  'config.yaml': 'CONFIDENTIAL',
  'resource of config.yaml': 'CONFIDENTIAL',
  'tools.yaml': 'SECRET',
  sensitive_paths: 'CONFIDENTIAL',
}

/** What a reading is answered with, and the operator; nothing of an error looks like it. */
const WORKED = /"read (menu|internal|secret|file|tell)"|arrived {2}at vault|^raised$/

const USERS = ['ada', 'bob']
const SINKS = ['sink_send', 'sink_ask', 'local_send']

/** How many sessions race, what they do, and in which order, depends on the seed alone. */
export async function playRound(world: World, random: Random, round: string): Promise<Aftermath> {
  let marks = 0
  const play: Play = { ...world, random, nextMark: () => `race-${round}-${marks++}` }
  // Users have sessions of the same names: a label must not pass from one user to the other.
  const owners = Array.from({ length: random.between(1, 3) }, (_, at) => ({
    user: USERS[at % 2] ?? '',
    session: `s-${round}-${at >> 1}`,
  }))
  const sessions = owners.map((owner) => new SessionPlay(play, new Caller(owner, { ...world, random })))
  await Promise.all(sessions.map((session) => session.run()))
  return {
    recheck: async () => {
      for (const session of sessions) await session.recheck()
    },
  }
}

/** The sessions of a round that is over. */
export interface Aftermath {
  /** They read and send once more: what was killed meanwhile must have forgotten nothing. */
  recheck(): Promise<void>
}

/** Asks for the labels of all sessions that anything was to raise. */
export async function readLabels({ history, api }: World): Promise<void> {
  const { sessions } = await api('GET', '/sessions')
  const readAt = history.now()
  const labels = new Map<string, SeenLabel['sensitivity']>()
  for (const { user, session, sensitivity } of sessions) labels.set(`${user}/${session}`, sensitivity)
  for (const session of new Set(history.raises.map((raise) => raise.session)))
    history.labels.push({ session, sensitivity: labels.get(session), readAt })
}

/** What one session does: reads, sends, and becomes private at some moment. */
class SessionPlay {
  readonly #play: Play
  readonly #caller: Caller
  readonly #willBePrivate: boolean
  readonly #running: Promise<void>[] = []
  #isPrivate = false

  constructor(play: Play, caller: Caller) {
    this.#play = play
    this.#caller = caller
    this.#willBePrivate = play.random.happens(0.75)
  }

  async run(): Promise<void> {
    const { random } = this.#play
    await this.#read('menu', () => this.#caller.call('desk_menu'))
    const steps = random.between(3, 9)
    const raiseAt = this.#willBePrivate ? random.between(0, steps - 1) : -1
    for (let step = 0; step < steps; step++) {
      await this.#pause()
      const work = step === raiseAt || (this.#isPrivate && random.happens(0.1)) ? this.#raise() : this.#act()
      this.#running.push(work)
      // Some wait for the answer, others go on at once.
      if (random.happens(0.4)) await work
    }
    await Promise.all(this.#running)
    // Whatever happened, one more after the last answer.
    await this.#send(random.pick(SINKS))
  }

  async recheck(): Promise<void> {
    this.#caller.forget()
    await this.#read('menu', () => this.#caller.call('desk_menu'))
    for (const sink of ['sink_send', 'local_send']) await this.#send(sink)
    await this.#sendToPair()
  }

  async #pause(): Promise<void> {
    const { random } = this.#play
    if (random.happens(0.5)) return
    if (random.happens(0.1)) await delay(random.between(1, 8))
    for (let turns = random.between(0, 6); turns > 0; turns--) await turn()
  }

  #act(): Promise<void> {
    const { random, congest } = this.#play
    const kind = random.next()
    if (kind < 0.15) return this.#read('menu', () => this.#caller.call('desk_menu'))
    if (kind < 0.2) return this.#read('internal', () => this.#caller.call('desk_internal'))
    if (kind < 0.6) return this.#send(random.pick(SINKS))
    if (kind < 0.72) return this.#sendToPair()
    if (kind < 0.86) return this.#request(random.happens(0.3) ? 'pair' : 'sink')
    if (kind < 0.87 && congest && this.#willBePrivate) return this.#raceInQueue(congest)
    return this.#isPrivate ? this.#sendApproved() : this.#send(random.pick(SINKS))
  }

  async #read(what: string, call: () => Promise<string>): Promise<void> {
    const { history } = this.#play
    const begunAt = history.now()
    const answer = await call().catch(String)
    const hasWorked = WORKED.test(answer)
    history.readings.push({ session: this.#caller.name, what, begunAt, answeredAt: history.now(), hasWorked, answer })
  }

  async #raise(): Promise<void> {
    const { random, history, api } = this.#play
    const level = random.pick(['CONFIDENTIAL', 'SECRET'] as const)
    const { user, session } = this.#caller.owner
    const caller = this.#caller
    const ways: Readonly<Record<string, () => Promise<unknown>>> = {
      'config.yaml': () => caller.call('vault_menu'),
      'resource of config.yaml': () => caller.request('resources/read', { uri: `vault://${session}` }),
      'tools.yaml': () => caller.call('desk_secret'),
      sensitive_paths: () => caller.call('desk_file', { path: '/srv/hr/salaries.txt' }),
      'what a trusted server says': () => caller.call('desk_tell', { level }),
      operator: () => api('POST', '/sessions/raise', { user, session, sensitivity: level }),
    }
    const by = random.pick(Object.keys(ways))
    const raise: Raise = { session: caller.name, by, level: LEVELS[by] ?? level, begunAt: history.now() }
    history.raises.push(raise)
    this.#isPrivate = true
    const answer = await ways[by]?.().then(
      (given) => (typeof given === 'string' ? given : 'raised'),
      () => '',
    )
    // An answer that carries the data, or an operator's, says that the label is in force.
    if (!WORKED.test(answer ?? '')) return
    raise.acknowledgedAt = history.now()
    this.#play.onRaised?.()
    await this.#play.settle?.()
    if (this.#play.settle) raise.settledAt = history.now()
  }

  async #attempt(
    facts: Pick<Attempt, 'mark' | 'way' | 'to'>,
    call: (mark: string) => Promise<string>,
  ): Promise<Attempt> {
    const { history } = this.#play
    const attempt: Attempt = { ...facts, session: this.#caller.name, sentAt: history.now() }
    history.attempts.push(attempt)
    const answer = await call(facts.mark).catch((error: unknown) => `no answer: ${error}`)
    attempt.answeredAt = history.now()
    attempt.answer = answer.slice(0, 400)
    attempt.outcome = readOutcome(answer, facts.mark)
    return attempt
  }

  async #send(tool: string, mark = this.#play.nextMark()): Promise<void> {
    const way = tool.endsWith('ask') ? 'ask' : 'send'
    const answered = new AbortController()
    const sent = this.#attempt({ mark, way, to: 'sink' }, () => this.#caller.call(tool, { mark }))
    if (way === 'ask') void this.#answerQuestion(mark, answered.signal)
    await sent
    answered.abort()
  }

  async #sendToPair(): Promise<void> {
    const mark = this.#play.nextMark()
    await this.#attempt({ mark, way: 'send', to: 'pair' }, () => this.#caller.call('pair_send', { mark }))
  }

  /** What is no tool reaches out, too. */
  async #request(to: Attempt['to']): Promise<void> {
    const { random } = this.#play
    const mark = this.#play.nextMark()
    const ref = { type: 'ref/prompt', name: `${to}_letter` }
    const uri = { uri: `${to === 'pair' ? 'normal' : 'sink'}://${mark}` }
    const [way, method, params] = random.pick([
      ['resource', 'resources/read', uri],
      ['prompt', 'prompts/get', { name: `${to}_letter`, arguments: { mark } }],
      ['completion', 'completion/complete', { ref, argument: { name: 'mark', value: mark } }],
      ...(to === 'sink' ? [['subscribe', 'resources/subscribe', uri] as const] : []),
    ] as const)
    await this.#attempt({ mark, way, to }, () => this.#caller.request(method, params))
  }

  /** A call that needs a person anyway: approved, refused, or left until it expires. */
  async #answerQuestion(mark: string, answered: AbortSignal): Promise<void> {
    const { random, api } = this.#play
    const kind = random.next()
    if (kind < 0.03) return
    while (!answered.aborted) {
      const { approvals } = await api('GET', '/approvals').catch(() => ({ approvals: [] }))
      const found = approvals.find((one: { arguments?: { mark?: string } }) => one.arguments?.mark === mark)
      if (found) {
        await this.#pause()
        await this.#approve(found.id, mark, { isPrivate: false, answer: kind < 0.2 ? 'deny' : 'once' })
        return
      }
      await delay(20)
    }
  }

  async #approve(
    id: string,
    mark: string,
    { isPrivate, answer }: { isPrivate: boolean; answer: 'once' | 'deny' },
  ): Promise<boolean> {
    const { history, api } = this.#play
    if (isPrivate && answer === 'once') history.approvals.push({ mark })
    return api('POST', `/approvals/${id}`, { answer }).then(
      () => answer === 'once',
      () => false,
    )
  }

  /** Refused, approved by a person, sent once, and refused again. */
  async #sendApproved(): Promise<void> {
    const { random, nextMark } = this.#play
    const mark = nextMark()
    const tool = random.pick(['sink_send', 'local_send'])
    const send = () => this.#attempt({ mark, way: 'send', to: 'sink' }, () => this.#caller.call(tool, { mark }))
    const [, id] = /approvals approve (\w+)/.exec((await send()).answer ?? '') ?? []
    if (id === undefined) return
    await this.#approve(id, mark, { isPrivate: true, answer: random.happens(0.85) ? 'once' : 'deny' })
    await Promise.all(Array.from({ length: random.between(1, 3) }, send))
  }

  /** The session becomes private while its calls wait for a connection. */
  async #raceInQueue(congest: NonNullable<World['congest']>): Promise<void> {
    const server = this.#play.random.pick(['sink', 'pair'] as const)
    const release = congest(server)
    const waiting = [this.#request(server), ...[1, 2].map(() => this.#sendTo(server))]
    await turn()
    await this.#raise()
    release()
    await Promise.all(waiting)
  }

  #sendTo(server: 'sink' | 'pair'): Promise<void> {
    return server === 'pair' ? this.#sendToPair() : this.#send('sink_send')
  }
}

function readOutcome(answer: string, mark: string): Outcome {
  if (answer.includes(`arrived ${mark}`) || /"result":\{\}|"resultType":"complete"\}/.test(answer)) return 'arrived'
  const isRefused = /PRIVATE_SESSION|APPROVAL_(DENIED|EXPIRED|REQUIRED)/.test(answer)
  return isRefused ? 'refused' : 'unknown'
}
