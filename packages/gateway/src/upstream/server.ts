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

/** One connection to open: the identity, and the listener. */
export interface NewConnectionOptions {
  readonly config: ServerConfig
  readonly listener: UpstreamListener
  readonly identity: ConnectionIdentity
  readonly onQuestion: (scope: QuestionScope) => void
}

export interface UpstreamServerOptions {
  readonly config: ServerConfig
  readonly listener: UpstreamListener
  readonly clientInfo: JsonObject
  /** What the server did in the last run. */
  readonly asks: QuestionScope | undefined
  readonly connect: (one: NewConnectionOptions) => UpstreamConnection
  /** The maximum number of dedicated connections at the same time. */
  readonly maxConnections?: number
}

/** A dedicated connection becomes idle after this time, unless the entry says otherwise. */
const DEFAULT_IDLE_MS = 600_000
const DEFAULT_MAX_CONNECTIONS = 100
/** The share of one session: the rest is reserved for others. */
const MAX_SESSION_SHARE = 0.75
/** The status shows this many of them, and this many lines of each. */
const MAX_SHOWN = 10
const MAX_LINES_SHOWN = 10

interface DedicatedConnection {
  readonly connection: UpstreamConnection
  readonly conversation: string | undefined
  readonly session: string
  calls: number
  /** The tools of its process, once they are known. */
  tools: readonly ToolDefinition[]
}

/**
 * A server with a first connection, and dedicated connections for those who must not share it: if the operator
 * configured that, or if the server asks questions of its clients. Then each client is asked on its own behalf, for
 * what it declared.
 */
export class Server implements Upstream {
  readonly config: ServerConfig
  readonly #options: UpstreamServerOptions
  readonly #perSession: boolean
  readonly #primary: UpstreamConnection
  /** The least recently used one is first. */
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
      listener: { ...listener, onCatalog: (catalog) => this.#onCatalog(catalog) },
      identity: sharedIdentity(clientInfo),
      onQuestion: (scope) => this.#onQuestion(scope),
    })
  }

  /** The status of the first connection, with messages of the latest other ones. */
  status(): UpstreamStatus {
    const primary = this.#primary.status()
    if (!this.#perSession && this.#dedicated.size === 0) return primary
    const latest = [...this.#dedicated.values()].slice(-MAX_SHOWN).map(({ connection }) => connection.status())
    return {
      ...primary,
      messages: [...primary.messages, ...latest.flatMap(formatMessages)],
      ownConnections: { count: this.#dedicated.size, pids: latest.flatMap(({ pid }) => pid ?? []) },
    }
  }

  start(): void {
    this.#primary.start()
  }

  /** Nearly every call passes here: an async function would cost more than everything it does. */
  request(call: ClientCall): Promise<UpstreamReply> {
    const cancelled = call.cancellation?.reason
    // Its conversation may be over, and then nobody would end a connection that was opened for it.
    if (cancelled !== undefined) return Promise.reject(callCancelledError(cancelled))
    const slot = findSlot(call, this.#rules)
    return slot ? this.#requestOver(slot, call) : this.#primary.request(call)
  }

  notifyConversation(conversation: string, notice: ConversationEvent): void {
    for (const [name, dedicated] of [...this.#dedicated]) {
      if (dedicated.conversation !== conversation) continue
      if (notice === 'over') this.#release(name, dedicated)
      else dedicated.connection.notifyConversation(conversation, notice)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#all().map((upstream) => upstream.close()), ...this.#closing])
  }

  #all(): readonly UpstreamConnection[] {
    return [this.#primary, ...[...this.#dedicated.values()].map(({ connection }) => connection)]
  }

  /** Only a legacy server can ask questions; one that has become modern is shared again. */
  #onCatalog(catalog: ServerCatalog): void {
    this.#rules = { ...this.#rules, asks: catalog.era === 'legacy' ? this.#rules.asks : undefined }
    this.#catalog = { ...catalog, asks: this.#rules.asks }
    this.#publish(this.#catalog)
  }

  /** A dedicated process may be ready before the first one: then the others are compared with its catalog. */
  #onDedicatedCatalog(dedicated: DedicatedConnection, catalog: ServerCatalog): void {
    const isNew = this.#catalog === undefined
    this.#catalog ??= { ...catalog, asks: this.#rules.asks }
    const hadOthers = this.#differingTools(dedicated).length > 0
    dedicated.tools = catalog.tools
    if (isNew || hadOthers || this.#differingTools(dedicated).length > 0) this.#publish(this.#catalog)
  }

  /** The tools that a process defines differently from the first one. */
  #differingTools({ tools }: DedicatedConnection): readonly ToolDefinition[] {
    return this.#catalog ? findDifferingTools(this.#catalog.tools, tools) : []
  }

  /** One definition for all: if a process has a different one, that one must be reviewed (GOV-9). */
  #publish(catalog: ServerCatalog): void {
    if (this.#closed) return
    const deviating = [...this.#dedicated.values()].flatMap((dedicated) => this.#differingTools(dedicated))
    const others = new Map(deviating.map((tool) => [tool.name, tool]))
    const tools = others.size === 0 ? catalog.tools : catalog.tools.map((tool) => others.get(tool.name) ?? tool)
    this.#options.listener.onCatalog({ ...catalog, tools })
  }

  #onQuestion(scope: QuestionScope): void {
    const { asks } = this.#rules
    if (asks === 'anywhere' || asks === scope) return
    this.#rules = { ...this.#rules, asks: scope }
    // From now on their calls use other connections, and updates come there.
    for (const { watch } of this.#all()) watch.dismiss()
    if (this.#catalog) this.#onCatalog(this.#catalog)
  }

  async #requestOver(slot: ConnectionSlot, call: ClientCall): Promise<UpstreamReply> {
    const name = slot.isExclusive ? this.#findFreeName(slot.name) : slot.name
    const dedicated = this.#findOrConnect({ ...slot, name }, call.session)
    dedicated.calls++
    try {
      return await dedicated.connection.request(call)
    } catch (error) {
      // The server may go on with an abandoned call, and ask: that question must not reach the next client of this
      // connection.
      if (slot.isExclusive && this.#dedicated.get(name) === dedicated) this.#release(name, dedicated)
      throw error
    } finally {
      dedicated.calls--
    }
  }

  /** The first connection of this kind that nobody uses. */
  #findFreeName(name: string): string {
    for (let index = 0; ; index++) {
      const one = `${name}\n${index}`
      if (!this.#dedicated.get(one)?.calls) return one
    }
  }

  #findOrConnect({ name, identity, conversation }: ConnectionSlot, session: string): DedicatedConnection {
    const { connect, listener } = this.#options
    const existing = this.#dedicated.get(name)
    if (!existing) this.#evictIdle(session)
    const dedicated: DedicatedConnection = existing ?? {
      connection: connect({
        config: withoutHealthCheck(withIdleTimeout(this.config)),
        listener: { ...listener, onCatalog: (catalog) => this.#onDedicatedCatalog(dedicated, catalog) },
        identity,
        onQuestion: (scope) => this.#onQuestion(scope),
      }),
      conversation,
      session,
      calls: 0,
      tools: [],
    }
    this.#dedicated.delete(name)
    this.#dedicated.set(name, dedicated)
    return dedicated
  }

  /** A client without pending calls and subscriptions gets a new connection when it comes back. */
  #evictIdle(session: string): void {
    const { id } = this.config
    if (this.#closed) throw new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${id} is closed.`)
    const { maxConnections = DEFAULT_MAX_CONNECTIONS } = this.#options
    const all = [...this.#dedicated]
    const own = all.filter(([, dedicated]) => dedicated.session === session)
    const isGreedy = own.length >= Math.ceil(maxConnections * MAX_SESSION_SHARE)
    if (!isGreedy && all.length < maxConnections) return
    const idle = (isGreedy ? own : all).find(([, { calls, connection }]) => calls === 0 && !connection.watch.isHeld)
    if (idle) return this.#release(...idle)
    const dedicated = `${isGreedy ? own.length : maxConnections} connections to server ${id}`
    const limit = isGreedy ? 'serve this session, which is its share' : 'are in use, which is the limit'
    throw new SallyportError('OVERLOADED', `${dedicated} ${limit}.`)
  }

  #release(name: string, dedicated: DedicatedConnection): void {
    this.#dedicated.delete(name)
    if (this.#catalog && this.#differingTools(dedicated).length > 0) this.#publish(this.#catalog)
    const gone = dedicated.connection.close().finally(() => this.#closing.delete(gone))
    this.#closing.add(gone)
  }
}

/** Without session names: who may see a server need not know who is using it. */
function formatMessages({ pid, state, reason, messages }: UpstreamStatus): readonly string[] {
  const who = `[session${pid === undefined ? '' : `, pid ${pid}`}]`
  const why = reason === undefined ? [] : [`${state}: ${reason}`]
  return [...messages.slice(-MAX_LINES_SHOWN), ...why].map((line) => `${who} ${line}`)
}

function withIdleTimeout(config: ServerConfig): ServerConfig {
  return { ...config, timeouts: { ...config.timeouts, idle: config.timeouts.idle ?? DEFAULT_IDLE_MS } }
}

/** The first connection shows the state of the server. */
const withoutHealthCheck = (config: ServerConfig): ServerConfig => ({
  ...config,
  timeouts: { ...config.timeouts, health: undefined },
})

/** The transport kind that decides about sharing. */
function transportKind(config: ServerConfig): SharingRules['kind'] {
  if (config.kind !== 'docker-gateway') return config.kind
  return config.transport === 'streaming' ? 'http' : 'stdio'
}

/** Tools that another process of the same server defines differently: it may be another version. */
function findDifferingTools(
  existing: readonly ToolDefinition[],
  others: readonly ToolDefinition[],
): readonly ToolDefinition[] {
  const byName = new Map(existing.map((tool) => [tool.name, tool]))
  return others.filter((tool) => {
    const own = byName.get(tool.name)
    return own !== undefined && !sameJson(withoutMeta(own), withoutMeta(tool))
  })
}

/** No model reads `_meta`, and it may differ in each process. */
const withoutMeta = (tool: ToolDefinition) => ({ ...tool, _meta: undefined })
