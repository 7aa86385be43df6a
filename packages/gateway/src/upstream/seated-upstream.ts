import { callCancelled, type JsonObject, SallyportError, type ToolDefinition } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import type { AskingHabit } from './client.ts'
import { deviatingTools } from './deviating-tools.ts'
import type { Speaker } from './link.ts'
import type { ClientCall } from './outgoing-call.ts'
import { openSpeaker, type Seat, type SharingRules, seatFor } from './seat.ts'
import type {
  ConnectedUpstream,
  ConversationNotice,
  Upstream,
  UpstreamListener,
  UpstreamReply,
} from './server-behind.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { UpstreamStatus } from './upstream-status.ts'

/** One connection to open: as whom, and who hears of it. */
export interface Opened {
  readonly config: ServerConfig
  readonly listener: UpstreamListener
  readonly speaker: Speaker
  readonly onAsked: (habit: AskingHabit) => void
}

export interface SeatedUpstreamOptions {
  readonly config: ServerConfig
  readonly listener: UpstreamListener
  readonly clientInfo: JsonObject
  /** What it did the last time. */
  readonly asks: AskingHabit | undefined
  readonly openOne: (one: Opened) => ConnectedUpstream
  /** So many may have a connection of their own at the same time. */
  readonly most?: number
}

/** A connection of somebody's own rests after this, unless the entry says otherwise. */
const DEFAULT_IDLE = 600_000
const DEFAULT_MOST = 100
/** What one session may have of them: the rest is there for the others. */
const SHARE = 0.75
/** Of so many of them the status tells, and so many lines of each. */
const MOST_SHOWN = 10
const LINES_SHOWN = 10

interface Taken {
  readonly upstream: ConnectedUpstream
  readonly conversation: string | undefined
  readonly session: string
  calls: number
  /** What its process offers, once it is known. */
  tools: readonly ToolDefinition[]
}

/**
 * A server, and a connection of their own for those who must not share the first one: where the operator says so, and
 * where the server asks things of its clients, so that each is asked on its own behalf and for what it declared.
 */
export class SeatedUpstream implements Upstream {
  readonly config: ServerConfig
  readonly #options: SeatedUpstreamOptions
  readonly #perSession: boolean
  readonly #scout: ConnectedUpstream
  /** The one that was used the longest time ago stands first. */
  readonly #taken = new Map<string, Taken>()
  readonly #leaving = new Set<Promise<void>>()
  #rules: SharingRules
  #catalogue: ServerCatalogue | undefined
  #closed = false

  constructor(options: SeatedUpstreamOptions) {
    const { config, listener, clientInfo } = options
    this.config = config
    this.#options = options
    this.#perSession = config.kind === 'stdio' && config.per === 'session'
    this.#rules = { kind: wireOf(config), perSession: this.#perSession, asks: options.asks, clientInfo }
    this.#scout = options.openOne({
      config: this.#perSession ? resting(config) : config,
      listener: { ...listener, onCatalogue: (catalogue) => this.#discovered(catalogue) },
      speaker: openSpeaker(clientInfo),
      onAsked: (habit) => this.#learn(habit),
    })
  }

  /** As the first connection is, with what the latest of the others have to say. */
  status(): UpstreamStatus {
    const scout = this.#scout.status()
    if (!this.#perSession && this.#taken.size === 0) return scout
    const latest = [...this.#taken.values()].slice(-MOST_SHOWN).map(({ upstream }) => upstream.status())
    return {
      ...scout,
      messages: [...scout.messages, ...latest.flatMap(wordsOf)],
      ownConnections: { count: this.#taken.size, pids: latest.flatMap(({ pid }) => pid ?? []) },
    }
  }

  start(): void {
    this.#scout.start()
  }

  /** Nearly every call passes here: an async function would cost each of them more than all that is done. */
  request(call: ClientCall): Promise<UpstreamReply> {
    const cancelled = call.cancellation?.reason
    // Its conversation may be over, and nobody would end what was started for it.
    if (cancelled !== undefined) return Promise.reject(callCancelled(cancelled))
    const seat = seatFor(call, this.#rules)
    return seat ? this.#requestFrom(seat, call) : this.#scout.request(call)
  }

  tell(conversation: string, notice: ConversationNotice): void {
    for (const [name, taken] of [...this.#taken]) {
      if (taken.conversation !== conversation) continue
      if (notice === 'over') this.#free(name, taken)
      else taken.upstream.tell(conversation, notice)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#all().map((upstream) => upstream.close()), ...this.#leaving])
  }

  #all(): readonly ConnectedUpstream[] {
    return [this.#scout, ...[...this.#taken.values()].map(({ upstream }) => upstream)]
  }

  /** Only a legacy server can ask; one that has become modern is shared again. */
  #discovered(catalogue: ServerCatalogue): void {
    this.#rules = { ...this.#rules, asks: catalogue.era === 'legacy' ? this.#rules.asks : undefined }
    this.#catalogue = { ...catalogue, asks: this.#rules.asks }
    this.#publish(this.#catalogue)
  }

  /** A process of somebody's own may be there before the first one: then its word is the first that the others are compared with. */
  #offered(taken: Taken, catalogue: ServerCatalogue): void {
    const isNew = this.#catalogue === undefined
    this.#catalogue ??= { ...catalogue, asks: this.#rules.asks }
    const hadOthers = this.#deviating(taken).length > 0
    taken.tools = catalogue.tools
    if (isNew || hadOthers || this.#deviating(taken).length > 0) this.#publish(this.#catalogue)
  }

  /** What a process defines otherwise than the first one. */
  #deviating({ tools }: Taken): readonly ToolDefinition[] {
    return this.#catalogue ? deviatingTools(this.#catalogue.tools, tools) : []
  }

  /** One definition for all: where a process has another, that is the one to be reviewed (GOV-9). */
  #publish(catalogue: ServerCatalogue): void {
    if (this.#closed) return
    const deviating = [...this.#taken.values()].flatMap((taken) => this.#deviating(taken))
    const others = new Map(deviating.map((tool) => [tool.name, tool]))
    const tools = others.size === 0 ? catalogue.tools : catalogue.tools.map((tool) => others.get(tool.name) ?? tool)
    this.#options.listener.onCatalogue({ ...catalogue, tools })
  }

  #learn(habit: AskingHabit): void {
    const { asks } = this.#rules
    if (asks === 'anywhere' || asks === habit) return
    this.#rules = { ...this.#rules, asks: habit }
    // From now on their calls go elsewhere: what those change is told there.
    for (const { watch } of this.#all()) watch.dismiss()
    if (this.#catalogue) this.#discovered(this.#catalogue)
  }

  async #requestFrom(seat: Seat, call: ClientCall): Promise<UpstreamReply> {
    const name = seat.isExclusive ? this.#freeName(seat.name) : seat.name
    const taken = this.#take({ ...seat, name }, call.session)
    taken.calls++
    try {
      return await taken.upstream.request(call)
    } catch (error) {
      // The server may go on with what was given up, and ask: that must not reach the next who would sit here.
      if (seat.isExclusive && this.#taken.get(name) === taken) this.#free(name, taken)
      throw error
    } finally {
      taken.calls--
    }
  }

  /** The first seat of this kind that nobody uses. */
  #freeName(name: string): string {
    for (let place = 0; ; place++) {
      const one = `${name}\n${place}`
      if (!this.#taken.get(one)?.calls) return one
    }
  }

  #take({ name, speaker, conversation }: Seat, session: string): Taken {
    const { openOne, listener } = this.#options
    const known = this.#taken.get(name)
    if (!known) this.#makeRoom(session)
    const taken: Taken = known ?? {
      upstream: openOne({
        config: unchecked(resting(this.config)),
        listener: { ...listener, onCatalogue: (catalogue) => this.#offered(taken, catalogue) },
        speaker,
        onAsked: (habit) => this.#learn(habit),
      }),
      conversation,
      session,
      calls: 0,
      tools: [],
    }
    this.#taken.delete(name)
    this.#taken.set(name, taken)
    return taken
  }

  /** Whoever has nothing under way, and waits for no news, gets a new connection when it comes back. */
  #makeRoom(session: string): void {
    const { id } = this.config
    if (this.#closed) throw new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${id} is closed.`)
    const { most = DEFAULT_MOST } = this.#options
    const all = [...this.#taken]
    const own = all.filter(([, taken]) => taken.session === session)
    const isGreedy = own.length >= Math.ceil(most * SHARE)
    if (!isGreedy && all.length < most) return
    const idle = (isGreedy ? own : all).find(([, { calls, upstream }]) => calls === 0 && !upstream.watch.isHeld)
    if (idle) return this.#free(...idle)
    const taken = `${isGreedy ? own.length : most} connections to server ${id}`
    const limit = isGreedy ? 'serve this session, which is its share' : 'are in use, which is the limit'
    throw new SallyportError('OVERLOADED', `${taken} ${limit}.`)
  }

  #free(name: string, taken: Taken): void {
    this.#taken.delete(name)
    if (this.#catalogue && this.#deviating(taken).length > 0) this.#publish(this.#catalogue)
    const gone = taken.upstream.close().finally(() => this.#leaving.delete(gone))
    this.#leaving.add(gone)
  }
}

/** Sessions have no names here: who may see a server need not know who is using it. */
function wordsOf({ pid, state, reason, messages }: UpstreamStatus): readonly string[] {
  const who = `[session${pid === undefined ? '' : `, pid ${pid}`}]`
  const why = reason === undefined ? [] : [`${state}: ${reason}`]
  return [...messages.slice(-LINES_SHOWN), ...why].map((line) => `${who} ${line}`)
}

function resting(config: ServerConfig): ServerConfig {
  return { ...config, timeouts: { ...config.timeouts, idle: config.timeouts.idle ?? DEFAULT_IDLE } }
}

/** The first connection tells how the server is. */
const unchecked = (config: ServerConfig): ServerConfig => ({
  ...config,
  timeouts: { ...config.timeouts, health: undefined },
})

/** How it is spoken to, whatever it is. */
function wireOf(config: ServerConfig): SharingRules['kind'] {
  if (config.kind !== 'docker-gateway') return config.kind
  return config.transport === 'streaming' ? 'http' : 'stdio'
}
