import {
  canonicalName,
  isolatedName,
  mcpName,
  type Naming,
  plainName,
  type SallyportError,
  type SallyportEvent,
} from '@sallyport/core'
import { isSameServer, type ServerConfig } from '../config/config.ts'
import type { OwnLists } from './own-lists.ts'
import { PairedServer } from './paired-server.ts'
import type { ServerCatalog } from './server-catalog.ts'
import { StartSignal } from './start-signal.ts'
import { type ServerState, stateRefusal } from './state-refusal.ts'
import { isolatedConfig, normalConfig } from './upstream-config.ts'
import type { AnnouncedLists, ListReader, OwnListsChange, Upstream, UpstreamListener } from './upstream-interface.ts'

export interface FleetListener {
  onCatalog(server: string, catalog: ServerCatalog): void
  /** The server announced a change of these lists. */
  onListsAnnounced?(server: string, lists: AnnouncedLists): void
  onEvent(event: SallyportEvent): void
  onOwnLists?(change: OwnListsChange): void
  /** The lists of the isolated instance of a server were read. */
  onCounterpartCatalog?(server: string): void
}

export interface FleetOptions {
  readonly open: (config: ServerConfig, listener: UpstreamListener) => Upstream
  readonly listener: FleetListener
  readonly isKnown: (server: string) => boolean
  readonly now: () => number
}

/** Why a server cannot be called while its catalog is unknown. */
export interface AbsentServer {
  readonly server: string
  readonly refusal: SallyportError
}

/** `calm`: if the catalogs are known from before, the first client gets its list before servers are started. */
export type StartTime = 'now' | 'calm'

export interface FleetChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly restarted: readonly string[]
}

type MutableChange = { [Key in keyof FleetChange]: string[] }

/** All servers of the configuration. A new configuration affects only the servers that it changed. */
export class Fleet {
  readonly #options: FleetOptions
  readonly #upstreams = new Map<string, Upstream>()
  /** Servers whose catalogs are not known yet, and since when we wait for them, by a monotonic clock. */
  readonly #unknown = new Map<string, number>()
  readonly #closing = new Set<Promise<void>>()
  readonly #waiters = new Set<() => void>()
  readonly #startSignal = new StartSignal()
  /** Until it is settled, a missing server may only be late. */
  readonly #configured: Promise<void>
  #onConfigured: (() => void) | undefined

  constructor(options: FleetOptions) {
    this.#options = options
    this.#configured = new Promise((resolve) => {
      this.#onConfigured = resolve
    })
  }

  get(server: string): Upstream | undefined {
    return this.#upstreams.get(server)
  }

  /** For a call that may come before the servers are started: their catalogs are known from before. */
  find(server: string): Upstream | Promise<Upstream | undefined> | undefined {
    const upstream = this.#upstreams.get(server)
    if (upstream !== undefined || this.#onConfigured === undefined) return upstream
    return this.waitUntilConfigured().then(() => this.#upstreams.get(server))
  }

  /** Resolves when the servers should be started. */
  waitForStart(when: StartTime): Promise<void> {
    return when === 'now' ? new Promise(setImmediate) : this.#startSignal.wait()
  }

  requestStart(): void {
    this.#startSignal.trigger()
  }

  /** Resolves when the servers have been started, which is soon if somebody asks. */
  waitUntilConfigured(): Promise<void> {
    this.requestStart()
    return this.#configured
  }

  /** By server: how the lists that this client sees differ from those that all share. `undefined` if none do. */
  ownLists(reader: ListReader): ReadonlyMap<string, OwnLists> | undefined {
    let found: Map<string, OwnLists> | undefined
    for (const [server, upstream] of this.#upstreams) {
      const own = upstream.ownLists?.(reader)
      if (own === undefined) continue
      found ??= new Map()
      found.set(server, own)
    }
    return found
  }

  /** Resolves when it is known which lists this client sees, or after `timeoutMs`; `undefined` if it is known. */
  prepareLists(reader: ListReader, timeoutMs: number): Promise<void> | undefined {
    const pending: Promise<void>[] = []
    for (const upstream of this.#upstreams.values()) {
      const preparing = upstream.prepareLists?.(reader)
      if (preparing) pending.push(preparing)
    }
    if (pending.length === 0) return undefined
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs)
      void Promise.all(pending).then(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  all(): readonly Upstream[] {
    return [...this.#upstreams.values()]
  }

  /** Adds a server that is not in the configuration: one of the gateway's own. */
  add(server: string, open: (listener: UpstreamListener) => Upstream): Upstream {
    const upstream = open(this.#createListener(server))
    this.#startServer(server, upstream)
    return upstream
  }

  /** These servers will be opened soon: a list that is requested meanwhile waits for those without a known catalog. */
  expect(servers: readonly string[]): void {
    for (const server of servers) if (!this.#options.isKnown(server)) this.#unknown.set(server, performance.now())
  }

  applyConfig(configs: readonly ServerConfig[], own: ReadonlySet<string>): FleetChange {
    const wanted = new Map(configs.map((config) => [config.id, config]))
    const change: MutableChange = { added: [], removed: [], restarted: [] }
    for (const [id, upstream] of [...this.#upstreams]) {
      if (own.has(id)) continue
      const config = wanted.get(id)
      const before = upstream.config as ServerConfig
      if (config && isSameServer(config, before)) continue
      if (config && upstream instanceof PairedServer && isSameServer(normalConfig(config), normalConfig(before))) {
        this.#changeCounterpart(upstream, config, change)
        continue
      }
      ;(config ? change.restarted : change.removed).push(id)
      this.#remove(id, upstream)
    }
    for (const [id, config] of wanted) {
      if (this.#upstreams.has(id)) continue
      if (!change.restarted.includes(id)) change.added.push(id)
      this.#open(config)
    }
    this.#markConfigured()
    return change
  }

  /** Closes the connections of a server and opens it again. Returns false if the configuration does not have it. */
  restart(server: string): boolean {
    const upstream = this.#upstreams.get(server)
    if (upstream === undefined || upstream.config.kind === 'built-in') return false
    const config = upstream.config as ServerConfig
    this.#remove(server, upstream)
    this.#open(config)
    return true
  }

  #open(config: ServerConfig): void {
    const normal = this.#options.open(normalConfig(config), this.#createListener(config.id))
    this.#startServer(config.id, this.#pair(config, normal) ?? normal)
  }

  /** The server with its isolated instance; `undefined` if it has none. */
  #pair(config: ServerConfig, normal: Upstream): PairedServer | undefined {
    const isolated = isolatedConfig(config)
    if (isolated === undefined) return undefined
    const openIsolated = (listener: UpstreamListener): Upstream => this.#options.open(isolated, listener)
    return new PairedServer({ config, normal, openIsolated, listener: this.#createListener(config.id) })
  }

  /**
   * The normal instance goes on. Its subscribers subscribe again, since some may belong to the other instance now. A
   * server without an isolated instance is opened again instead: nothing that began there knows that another one has to
   * get it now.
   */
  #changeCounterpart(before: PairedServer, config: ServerConfig, change: MutableChange): void {
    const { id } = config
    const { normal } = before
    const now = this.#pair(config, normal)
    this.#upstreams.set(id, now ?? normal)
    change[now === undefined ? 'removed' : 'restarted'].push(isolatedName(id))
    now?.startIsolated()
    this.#closeLater(before.closeIsolated())
    normal.dismissSubscriptions?.()
  }

  /** Call this when a session has become private: what it subscribed to moves to isolated instances. */
  recheckSubscriptions(): void {
    for (const upstream of this.#upstreams.values()) upstream.recheckSubscriptions?.()
  }

  /**
   * Resolves when every server's catalog is known or has been awaited for `timeoutMs`; `undefined` if nobody need wait.
   */
  waitUntilKnown(timeoutMs: number): Promise<void> | undefined {
    const now = performance.now()
    const left = Math.max(0, ...[...this.#unknown.values()].map((since) => since + timeoutMs - now))
    if (left <= 0) return undefined
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#waiters.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, left)
      this.#waiters.add(wake)
    })
  }

  /**
   * Why there is no tool of this name: it begins with the id of a server that did not start, so its tools are unknown.
   * With `naming: bare` every name may be one of the only server.
   */
  findAbsentServer(tool: string, naming: Naming = 'prefixed'): AbsentServer | undefined {
    const absent = this.#absentServers().filter(({ id }) => naming === 'bare' || startsWithServer(tool, id))
    // `a_b_read` is more likely a tool of `a-b` than of `a`.
    return this.#refuse(absent.sort((one, other) => other.id.length - one.id.length)[0])
  }

  /** A server that has not finished its first start: a name without a server may be one of its tools. */
  findStartingServer(): AbsentServer | undefined {
    return this.#refuse(this.#absentServers().find(({ state }) => state === 'starting'))
  }

  /** The servers that are not ready and whose offers nobody knows. */
  #absentServers(): ServerState[] {
    const isUnknown = ({ id, state }: ServerState): boolean => state !== 'ready' && !this.#options.isKnown(id)
    const opened: readonly ServerState[] = this.all().map((upstream) => upstream.status())
    const expected = [...this.#unknown.keys()].filter((id) => !this.#upstreams.has(id))
    return [...opened, ...expected.map((id) => ({ id, state: 'starting' }) as const)].filter(isUnknown)
  }

  #refuse(status: ServerState | undefined): AbsentServer | undefined {
    return status && { server: status.id, refusal: stateRefusal(status, this.#options.now()) }
  }

  async close(): Promise<void> {
    this.#markConfigured()
    for (const [id, upstream] of [...this.#upstreams]) this.#remove(id, upstream)
    // Expected servers that have not been opened by now will not come.
    for (const id of [...this.#unknown.keys()]) this.#markKnown(id)
    await Promise.all(this.#closing)
  }

  #markConfigured(): void {
    this.#onConfigured?.()
    this.#onConfigured = undefined
  }

  #startServer(id: string, upstream: Upstream): void {
    this.#upstreams.set(id, upstream)
    if (upstream.config.enabled) this.expect([id])
    upstream.start()
  }

  #remove(id: string, upstream: Upstream): void {
    this.#upstreams.delete(id)
    this.#markKnown(id)
    this.#closeLater(upstream.close())
  }

  #closeLater(closing: Promise<void>): void {
    const gone = closing.finally(() => this.#closing.delete(gone))
    this.#closing.add(gone)
  }

  #markKnown(id: string): void {
    if (!this.#unknown.delete(id) || this.#unknown.size > 0) return
    for (const wake of [...this.#waiters]) wake()
  }

  #createListener(server: string): UpstreamListener {
    const { listener } = this.#options
    return {
      onCatalog: (catalog) => {
        listener.onCatalog(server, catalog)
        this.#markKnown(server)
      },
      onListsAnnounced: (lists) => listener.onListsAnnounced?.(server, lists),
      onOwnLists: (change) => listener.onOwnLists?.(change),
      onCounterpartCatalog: () => listener.onCounterpartCatalog?.(server),
      onEvent: (event) => {
        listener.onEvent(event)
        const hasFailed = event.type === 'UPSTREAM_LOST' || event.type === 'UPSTREAM_NEEDS_LOGIN'
        if (hasFailed && event.instance === undefined) this.#markKnown(server)
      },
    }
  }
}

/** Whether a name, in any spelling that people and agents use, begins with this server's id. */
function startsWithServer(tool: string, server: string): boolean {
  const ref = { server, tool: 'x' }
  return [`${server}/x`, canonicalName(ref), plainName(ref), mcpName(ref)].some((name) =>
    tool.startsWith(name.slice(0, -1)),
  )
}
