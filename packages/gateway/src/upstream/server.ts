import { callCancelledError, type JsonObject, SallyportError, sameJson, type ToolDefinition } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import type { QuestionScope } from './client.ts'
import { type ConnectionSlot, findSlot, type SharingRules, sharedIdentity } from './connection-slot.ts'
import type { ConnectionIdentity } from './link/link.ts'
import type { ClientCall } from './link/outgoing-call.ts'
import type { ServerCatalog } from './server-catalog.ts'
import type {
  ConversationEvent,
  Upstream,
  UpstreamConnection,
  UpstreamListener,
  UpstreamReply,
} from './upstream-interface.ts'
import type { UpstreamStatus } from './upstream-status.ts'

/** One connection to open: as whom, and who hears of it. */
export interface NewConnectionOptions {
  readonly config: ServerConfig
  readonly listener: UpstreamListener
  readonly identity: ConnectionIdentity
  readonly onQuestion: (habit: QuestionScope) => void
}

export interface UpstreamServerOptions {
  readonly config: ServerConfig
  readonly listener: UpstreamListener
  readonly clientInfo: JsonObject
  /** What it did the last time. */
  readonly asks: QuestionScope | undefined
  readonly connect: (one: NewConnectionOptions) => UpstreamConnection
  /** So many may have a connection of their own at the same time. */
  readonly maxConnections?: number
}

/** A connection of somebody's own rests after this, unless the entry says otherwise. */
const DEFAULT_IDLE_MS = 600_000
const DEFAULT_MAX_CONNECTIONS = 100
/** What one session may have of them: the rest is there for the others. */
const MAX_SESSION_SHARE = 0.75
/** Of so many of them the status tells, and so many lines of each. */
const MAX_SHOWN = 10
const MAX_LINES_SHOWN = 10

interface DedicatedConnection {
  readonly connection: UpstreamConnection
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
export class Server implements Upstream {
  readonly config: ServerConfig
  readonly #options: UpstreamServerOptions
  readonly #perSession: boolean
  readonly #primary: UpstreamConnection
  /** The one that was used the longest time ago stands first. */
  readonly #dedicated = new Map<string, DedicatedConnection>()
  readonly #closing = new Set<Promise<void>>()
  #rules: SharingRules
  #catalog: ServerCatalog | undefined
  #closed = false

  constructor(options: UpstreamServerOptions) {
    const { config, listener, clientInfo } = options
    this.config = config
    this.#options = options
    this.#perSession = config.kind === 'stdio' && config.per === 'session'
    this.#rules = { kind: transportKind(config), perSession: this.#perSession, asks: options.asks, clientInfo }
    this.#primary = options.connect({
      config: this.#perSession ? withIdleTimeout(config) : config,
      listener: { ...listener, onCatalog: (catalogue) => this.#onCatalog(catalogue) },
      identity: sharedIdentity(clientInfo),
      onQuestion: (habit) => this.#onQuestion(habit),
    })
  }

  /** As the first connection is, with what the latest of the others have to say. */
  status(): UpstreamStatus {
    const scout = this.#primary.status()
    if (!this.#perSession && this.#dedicated.size === 0) return scout
    const latest = [...this.#dedicated.values()].slice(-MAX_SHOWN).map(({ connection }) => connection.status())
    return {
      ...scout,
      messages: [...scout.messages, ...latest.flatMap(formatMessages)],
      ownConnections: { count: this.#dedicated.size, pids: latest.flatMap(({ pid }) => pid ?? []) },
    }
  }

  start(): void {
    this.#primary.start()
  }

  /** Nearly every call passes here: an async function would cost each of them more than all that is done. */
  request(call: ClientCall): Promise<UpstreamReply> {
    const cancelled = call.cancellation?.reason
    // Its conversation may be over, and nobody would end what was started for it.
    if (cancelled !== undefined) return Promise.reject(callCancelledError(cancelled))
    const seat = findSlot(call, this.#rules)
    return seat ? this.#requestOver(seat, call) : this.#primary.request(call)
  }

  notifyConversation(conversation: string, notice: ConversationEvent): void {
    for (const [name, taken] of [...this.#dedicated]) {
      if (taken.conversation !== conversation) continue
      if (notice === 'over') this.#release(name, taken)
      else taken.connection.notifyConversation(conversation, notice)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#all().map((upstream) => upstream.close()), ...this.#closing])
  }

  #all(): readonly UpstreamConnection[] {
    return [this.#primary, ...[...this.#dedicated.values()].map(({ connection }) => connection)]
  }

  /** Only a legacy server can ask; one that has become modern is shared again. */
  #onCatalog(catalogue: ServerCatalog): void {
    this.#rules = { ...this.#rules, asks: catalogue.era === 'legacy' ? this.#rules.asks : undefined }
    this.#catalog = { ...catalogue, asks: this.#rules.asks }
    this.#publish(this.#catalog)
  }

  /** A process of somebody's own may be there before the first one: then its word is the first that the others are compared with. */
  #onDedicatedCatalog(taken: DedicatedConnection, catalogue: ServerCatalog): void {
    const isNew = this.#catalog === undefined
    this.#catalog ??= { ...catalogue, asks: this.#rules.asks }
    const hadOthers = this.#differingTools(taken).length > 0
    taken.tools = catalogue.tools
    if (isNew || hadOthers || this.#differingTools(taken).length > 0) this.#publish(this.#catalog)
  }

  /** What a process defines otherwise than the first one. */
  #differingTools({ tools }: DedicatedConnection): readonly ToolDefinition[] {
    return this.#catalog ? findDifferingTools(this.#catalog.tools, tools) : []
  }

  /** One definition for all: where a process has another, that is the one to be reviewed (GOV-9). */
  #publish(catalogue: ServerCatalog): void {
    if (this.#closed) return
    const deviating = [...this.#dedicated.values()].flatMap((taken) => this.#differingTools(taken))
    const others = new Map(deviating.map((tool) => [tool.name, tool]))
    const tools = others.size === 0 ? catalogue.tools : catalogue.tools.map((tool) => others.get(tool.name) ?? tool)
    this.#options.listener.onCatalog({ ...catalogue, tools })
  }

  #onQuestion(habit: QuestionScope): void {
    const { asks } = this.#rules
    if (asks === 'anywhere' || asks === habit) return
    this.#rules = { ...this.#rules, asks: habit }
    // From now on their calls go elsewhere: what those change is told there.
    for (const { watch } of this.#all()) watch.dismiss()
    if (this.#catalog) this.#onCatalog(this.#catalog)
  }

  async #requestOver(seat: ConnectionSlot, call: ClientCall): Promise<UpstreamReply> {
    const name = seat.isExclusive ? this.#findFreeName(seat.name) : seat.name
    const taken = this.#findOrConnect({ ...seat, name }, call.session)
    taken.calls++
    try {
      return await taken.connection.request(call)
    } catch (error) {
      // The server may go on with what was given up, and ask: that must not reach the next who would sit here.
      if (seat.isExclusive && this.#dedicated.get(name) === taken) this.#release(name, taken)
      throw error
    } finally {
      taken.calls--
    }
  }

  /** The first seat of this kind that nobody uses. */
  #findFreeName(name: string): string {
    for (let place = 0; ; place++) {
      const one = `${name}\n${place}`
      if (!this.#dedicated.get(one)?.calls) return one
    }
  }

  #findOrConnect({ name, identity, conversation }: ConnectionSlot, session: string): DedicatedConnection {
    const { connect, listener } = this.#options
    const known = this.#dedicated.get(name)
    if (!known) this.#evictIdle(session)
    const taken: DedicatedConnection = known ?? {
      connection: connect({
        config: withoutHealthCheck(withIdleTimeout(this.config)),
        listener: { ...listener, onCatalog: (catalogue) => this.#onDedicatedCatalog(taken, catalogue) },
        identity,
        onQuestion: (habit) => this.#onQuestion(habit),
      }),
      conversation,
      session,
      calls: 0,
      tools: [],
    }
    this.#dedicated.delete(name)
    this.#dedicated.set(name, taken)
    return taken
  }

  /** Whoever has nothing under way, and waits for no news, gets a new connection when it comes back. */
  #evictIdle(session: string): void {
    const { id } = this.config
    if (this.#closed) throw new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${id} is closed.`)
    const { maxConnections = DEFAULT_MAX_CONNECTIONS } = this.#options
    const all = [...this.#dedicated]
    const own = all.filter(([, taken]) => taken.session === session)
    const isGreedy = own.length >= Math.ceil(maxConnections * MAX_SESSION_SHARE)
    if (!isGreedy && all.length < maxConnections) return
    const idle = (isGreedy ? own : all).find(([, { calls, connection }]) => calls === 0 && !connection.watch.isHeld)
    if (idle) return this.#release(...idle)
    const taken = `${isGreedy ? own.length : maxConnections} connections to server ${id}`
    const limit = isGreedy ? 'serve this session, which is its share' : 'are in use, which is the limit'
    throw new SallyportError('OVERLOADED', `${taken} ${limit}.`)
  }

  #release(name: string, taken: DedicatedConnection): void {
    this.#dedicated.delete(name)
    if (this.#catalog && this.#differingTools(taken).length > 0) this.#publish(this.#catalog)
    const gone = taken.connection.close().finally(() => this.#closing.delete(gone))
    this.#closing.add(gone)
  }
}

/** Sessions have no names here: who may see a server need not know who is using it. */
function formatMessages({ pid, state, reason, messages }: UpstreamStatus): readonly string[] {
  const who = `[session${pid === undefined ? '' : `, pid ${pid}`}]`
  const why = reason === undefined ? [] : [`${state}: ${reason}`]
  return [...messages.slice(-MAX_LINES_SHOWN), ...why].map((line) => `${who} ${line}`)
}

function withIdleTimeout(config: ServerConfig): ServerConfig {
  return { ...config, timeouts: { ...config.timeouts, idle: config.timeouts.idle ?? DEFAULT_IDLE_MS } }
}

/** The first connection tells how the server is. */
const withoutHealthCheck = (config: ServerConfig): ServerConfig => ({
  ...config,
  timeouts: { ...config.timeouts, health: undefined },
})

/** How it is spoken to, whatever it is. */
function transportKind(config: ServerConfig): SharingRules['kind'] {
  if (config.kind !== 'docker-gateway') return config.kind
  return config.transport === 'streaming' ? 'http' : 'stdio'
}

/** Tools that another process of the same server defines otherwise: it may be of another version. */
function findDifferingTools(
  known: readonly ToolDefinition[],
  others: readonly ToolDefinition[],
): readonly ToolDefinition[] {
  const byName = new Map(known.map((tool) => [tool.name, tool]))
  return others.filter((tool) => {
    const own = byName.get(tool.name)
    return own !== undefined && !sameJson(withoutMeta(own), withoutMeta(tool))
  })
}

/** No model reads `_meta`, and it may be another in each process. */
const withoutMeta = (tool: ToolDefinition) => ({ ...tool, _meta: undefined })
