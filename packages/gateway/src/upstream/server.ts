import { callCancelledError, type Era, type JsonObject, SallyportError, type SallyportEvent } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import type { CallEgress } from '../sandbox/sandbox.ts'
import { ALL_CAPABILITIES, knownCapabilities, type QuestionScope, summarizeCapabilities } from './client.ts'
import { ConnectionLists, type ListedConnection } from './connection-lists.ts'
import { type ConnectionSlot, findSlot, type SharingRules, sharedIdentity } from './connection-slot.ts'
import type { ConnectionIdentity } from './link/link.ts'
import type { ClientCall } from './link/outgoing-call.ts'
import { LIST_NAMES, type ListName, type OwnLists } from './own-lists.ts'
import type { ServerCatalog } from './server-catalog.ts'
import type {
  AnnouncedLists,
  ConversationEvent,
  ListReader,
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
  /** Of the session that the connection is for; `undefined` if it is for no session. */
  readonly networkMode?: ClientCall['networkMode']
  /** The session that it is for, also if that is a sub-agent's. */
  readonly session?: string | undefined
  /** Whose files a process in a sandbox shares; `undefined`: nobody's. */
  readonly workspaceOf?: string | undefined
  /** The calls in flight on the connection, for its sandbox. */
  readonly calls?: (() => Iterable<CallEgress>) | undefined
  readonly onQuestion: (scope: QuestionScope) => void
  /** The server does not speak the era of its entry. */
  readonly onRefusedEra?: (() => void) | undefined
}

export interface UpstreamServerOptions {
  readonly config: ServerConfig
  readonly listener: UpstreamListener
  readonly clientInfo: JsonObject
  /** What the server did in the last run. */
  readonly asks: QuestionScope | undefined
  /** The era of the last run. */
  readonly era?: Era | undefined
  readonly connect: (one: NewConnectionOptions) => UpstreamConnection
  /** The maximum number of dedicated connections at the same time. */
  readonly maxConnections?: number
}

/** A dedicated connection becomes idle after this time, unless the entry says otherwise. */
const DEFAULT_IDLE_MS = 600_000
const DEFAULT_MAX_CONNECTIONS = 100
/** The share of one session: the rest is reserved for others. */
const MAX_SESSION_SHARE = 0.75
/** A server that refused the legacy era may be replaced by a newer one, or was only slow. */
const LEGACY_RETRY_MS = 600_000
/** The status shows this many of them, and this many lines of each. */
const MAX_SHOWN = 10
const MAX_LINES_SHOWN = 10
/** Connections at the same time that only read lists. A client whose lists are not known yet sees what all share. */
const MAX_PROBES = 4

interface DedicatedConnection extends ListedConnection {
  readonly connection: UpstreamConnection
  readonly conversation: string | undefined
  readonly session: string
  calls: number
  /** Those of its calls that a sandbox has to know about. */
  readonly watched: Set<CallEgress>
  /** The server does not speak its era: its calls were not sent. */
  isRefused: boolean
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
  readonly #lists = new ConnectionLists()
  /** By the capabilities that they declare. */
  readonly #probes = new Map<string, Promise<void>>()
  readonly #probeConnections = new Set<UpstreamConnection>()
  #era: Era | undefined
  #asks: QuestionScope | undefined
  /** A legacy connection beside a modern one was opened once. */
  #speaksBoth = false
  /** When the legacy era is tried again, after the server refused it. */
  #legacyRetryAt: number | undefined
  #closed = false

  constructor(options: UpstreamServerOptions) {
    const { config, listener, clientInfo } = options
    this.config = config
    this.#options = options
    this.#perSession = config.kind === 'stdio' && config.per === 'session'
    this.#asks = options.asks
    this.#era = options.era
    this.#rules = { kind: transportKind(config), perSession: this.#perSession, asks: options.asks, clientInfo }
    this.#updateRules()
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
    if (this.#legacyRetryAt !== undefined && performance.now() >= this.#legacyRetryAt) this.#retryLegacyAt(undefined)
    const slot = findSlot(call, this.#rules)
    return slot ? this.#requestOver(slot, call) : this.#primary.request(call)
  }

  ownLists(reader: ListReader): OwnLists | undefined {
    if (!this.#lists.hasOwn) return undefined
    const slot = findSlot(reader, this.#rules)
    return slot && !slot.isExclusive ? this.#lists.find(toListed(slot)) : undefined
  }

  /** A server that asks its clients may list only what they can serve: one short connection shows what that is. */
  prepareLists(reader: ListReader): Promise<void> | undefined {
    if (!this.#rules.asks || !this.#lists.shared || this.#closed) return undefined
    const slot = findSlot(reader, this.#rules)
    if (!slot || slot.isExclusive) return undefined
    const listed = toListed(slot)
    const isEverything = summarizeCapabilities(slot.identity.capabilities) === EVERYTHING
    if (isEverything || this.#lists.isKnown(listed)) return undefined
    const pending = this.#probes.get(listed.capabilities)
    if (pending || this.#probes.size >= MAX_PROBES) return pending
    const probing = this.#probe(slot).finally(() => this.#probes.delete(listed.capabilities))
    this.#probes.set(listed.capabilities, probing)
    return probing
  }

  notifyConversation(conversation: string, notice: ConversationEvent): void {
    for (const [name, dedicated] of [...this.#dedicated]) {
      if (dedicated.conversation !== conversation) continue
      if (notice === 'over') this.#release(name, dedicated)
      else dedicated.connection.notifyConversation(conversation, notice)
    }
  }

  dismissSubscriptions(): void {
    for (const { watch } of this.#all()) watch.dismiss()
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#all().map((upstream) => upstream.close()), ...this.#closing])
  }

  #all(): readonly UpstreamConnection[] {
    const dedicated = [...this.#dedicated.values()].map(({ connection }) => connection)
    return [this.#primary, ...dedicated, ...this.#probeConnections]
  }

  /**
   * A modern server may speak both eras: legacy clients are served in theirs, unless the operator chose one. Only over a
   * legacy connection can a server ask questions; one that is only modern is shared by all.
   */
  #updateRules(): void {
    const isModern = this.#era === 'modern'
    const mirrors = isModern && this.config.era === 'auto' && this.#legacyRetryAt === undefined
    this.#rules = { ...this.#rules, mirrors, asks: isModern && !mirrors ? undefined : this.#asks }
  }

  #retryLegacyAt(time: number | undefined): void {
    this.#legacyRetryAt = time
    this.#updateRules()
  }

  #onCatalog(catalog: ServerCatalog): void {
    this.#era = catalog.era
    this.#updateRules()
    this.#lists.setShared({ ...catalog, asks: this.#rules.asks })
    this.#publish()
  }

  /** A dedicated process may be ready before the first one: then the others are compared with its catalog. */
  #onDedicatedCatalog(dedicated: DedicatedConnection, catalog: ServerCatalog): void {
    if (dedicated.era === 'legacy') this.#speaksBoth = true
    // The shared lists are those of the first era.
    const isFirst = this.#lists.shared === undefined && dedicated.era === undefined
    if (isFirst) this.#lists.setShared({ ...catalog, asks: this.#rules.asks })
    const { changed, isNews } = this.#lists.setOwn(dedicated, catalog)
    if (isFirst || isNews) this.#publish()
    this.#notifyReaders(dedicated, changed)
  }

  #publish(): void {
    const { shared } = this.#lists
    if (shared && !this.#closed) this.#options.listener.onCatalog(this.#lists.publishable(shared))
  }

  /** After everything else, so that whoever asks at once gets the new lists. */
  #notifyReaders({ slot }: DedicatedConnection, lists: readonly ListName[]): void {
    if (lists.length === 0 || this.#closed) return
    const concerns = (reader: ListReader): boolean => findSlot(reader, this.#rules)?.name === slot
    this.#options.listener.onOwnLists?.({ lists, concerns })
  }

  /** Reads the lists for a client with these capabilities, over a connection that nobody else uses. */
  #probe(slot: ConnectionSlot): Promise<void> {
    const { clientInfo } = this.#rules
    // Of the client itself the server learns nothing from a list: whatever a client declares could be private data.
    const capabilities = knownCapabilities(slot.identity.capabilities)
    return new Promise((resolve) => {
      const finish = (lists?: ServerCatalog): void => {
        if (!this.#probeConnections.delete(probe)) return
        if (this.#lists.setBaseline(toListed(slot), lists).isNews) this.#publish()
        this.#close(probe)
        resolve()
      }
      const probe = this.#options.connect({
        config: withEra(withoutHealthCheck(this.config), slot.era),
        listener: { onCatalog: finish, onEvent: ({ type }) => FAILED_STARTS.has(type) && finish() },
        identity: { clientInfo, capabilities },
        onQuestion: () => {},
        onRefusedEra: slot.era && (() => finish()),
      })
      this.#probeConnections.add(probe)
      probe.start()
    })
  }

  #onQuestion(scope: QuestionScope): void {
    if (this.#asks === 'anywhere' || this.#asks === scope) return
    this.#asks = scope
    this.#updateRules()
    // From now on calls use other connections, and updates come there. Modern clients keep the modern one.
    if (!this.#rules.mirrors) this.#primary.watch.dismiss()
    for (const { connection } of this.#dedicated.values()) connection.watch.dismiss()
    if (this.#lists.shared) this.#onCatalog(this.#lists.shared)
    // Their lists may now be those of connections that declare less.
    this.#options.listener.onOwnLists?.({ lists: LIST_NAMES, concerns: () => true })
  }

  async #requestOver(slot: ConnectionSlot, call: ClientCall): Promise<UpstreamReply> {
    const name = slot.isExclusive ? this.#findFreeName(slot.name) : slot.name
    const dedicated = this.#findOrConnect({ ...slot, name }, call)
    dedicated.calls++
    if (call.egress) dedicated.watched.add(call.egress)
    try {
      return await dedicated.connection.request(call)
    } catch (error) {
      if (dedicated.isRefused) return this.#requestBridged(call)
      // The server may go on with an abandoned call, and ask: that question must not reach the next client of this
      // connection.
      if (slot.isExclusive && this.#dedicated.get(name) === dedicated) this.#release(name, dedicated)
      throw error
    } finally {
      dedicated.calls--
      if (call.egress) dedicated.watched.delete(call.egress)
      if (call.endsSession && dedicated.calls === 0 && this.#dedicated.get(name) === dedicated)
        this.#release(name, dedicated)
    }
  }

  /** The call was not sent: the server does not speak the era of its client. */
  #requestBridged(call: ClientCall): Promise<UpstreamReply> {
    const slot = findSlot(call, { ...this.#rules, mirrors: false, asks: undefined })
    return slot ? this.#requestOver(slot, call) : this.#primary.request(call)
  }

  #onRefusedEra(name: string, dedicated: DedicatedConnection): void {
    dedicated.isRefused = true
    if (!this.#speaksBoth) this.#retryLegacyAt(performance.now() + LEGACY_RETRY_MS)
    if (this.#dedicated.get(name) === dedicated) this.#release(name, dedicated)
  }

  /** The first connection of this kind that nobody uses. */
  #findFreeName(name: string): string {
    for (let index = 0; ; index++) {
      const one = `${name}\n${index}`
      if (!this.#dedicated.get(one)?.calls) return one
    }
  }

  #findOrConnect(slot: ConnectionSlot, { session, networkMode, endsSession }: ClientCall): DedicatedConnection {
    const { name, identity, conversation, era } = slot
    const { connect } = this.#options
    const existing = this.#dedicated.get(name)
    if (!existing) this.#evictIdle(session)
    const watched = existing?.watched ?? new Set()
    const dedicated: DedicatedConnection = existing ?? {
      connection: connect({
        config: withEra(withoutHealthCheck(withIdleTimeout(this.config)), era),
        listener: this.#createDedicatedListener(() => dedicated),
        identity,
        // A session whose label nobody knows reaches nothing.
        networkMode: networkMode ?? (() => 'NONE'),
        session,
        // A sub-agent reads data that its parent must not see, so it shares no files with anybody.
        workspaceOf: endsSession ? undefined : session,
        calls: () => watched,
        onQuestion: (scope) => this.#onQuestion(scope),
        onRefusedEra: era && (() => this.#onRefusedEra(name, dedicated)),
      }),
      conversation,
      session,
      ...toListed(slot),
      calls: 0,
      watched,
      isRefused: false,
    }
    this.#dedicated.delete(name)
    this.#dedicated.set(name, dedicated)
    return dedicated
  }

  /** What such a connection announces concerns only its own clients. */
  #createDedicatedListener(dedicated: () => DedicatedConnection): UpstreamListener {
    return {
      ...this.#options.listener,
      onCatalog: (catalog) => this.#onDedicatedCatalog(dedicated(), catalog),
      onListsAnnounced: (announced) => this.#notifyReaders(dedicated(), findAnnounced(announced)),
    }
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
    const { changed, isNews } = this.#lists.remove(dedicated)
    if (isNews) this.#publish()
    this.#notifyReaders(dedicated, changed)
    this.#close(dedicated.connection)
  }

  #close(connection: UpstreamConnection): void {
    const gone = connection.close().finally(() => this.#closing.delete(gone))
    this.#closing.add(gone)
  }
}

/** For a client that declares everything, the first connection has listed what it sees. */
const EVERYTHING = summarizeCapabilities(ALL_CAPABILITIES)

const FAILED_STARTS: ReadonlySet<SallyportEvent['type']> = new Set(['UPSTREAM_LOST', 'UPSTREAM_NEEDS_LOGIN'])

const toListed = ({ name, identity, isExclusive, era }: ConnectionSlot): ListedConnection => ({
  slot: name,
  capabilities: `${era ?? ''}${summarizeCapabilities(identity.capabilities)}`,
  isExclusive,
  era,
})

/** Templates are announced with the resources. */
const findAnnounced = ({ tools, resources, prompts }: AnnouncedLists): readonly ListName[] => [
  ...(tools ? (['tools'] as const) : []),
  ...(resources ? (['resources'] as const) : []),
  ...(prompts ? (['prompts'] as const) : []),
]

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

const withEra = (config: ServerConfig, era: ServerConfig['era'] | undefined): ServerConfig => ({
  ...config,
  ...(era && { era }),
})

/** The transport kind that decides about sharing. */
function transportKind(config: ServerConfig): SharingRules['kind'] {
  if (config.kind !== 'docker-gateway') return config.kind
  return config.transport === 'streaming' ? 'http' : 'stdio'
}
