import type { Finding, LoggedEvent, SallyportError, SallyportEvent, Sensitivity } from '@sallyport/core'
import type { RetentionPolicy } from './retention.ts'

export interface EventFilter {
  /** Both ends are included. */
  readonly since?: Date
  readonly until?: Date
  readonly agent?: string
  readonly session?: string
  readonly server?: string
  /** Any spelling of a tool's name, or a glob over these. */
  readonly tool?: string
  readonly types?: readonly SallyportEvent['type'][]
  readonly traceId?: string
  readonly callId?: string
  /** Returns the newest records, oldest first. */
  readonly limit?: number
}

/** How many records of one type, agent and server there are in an hour. */
export interface EventCount {
  readonly type: string
  /** Empty if the records have none. */
  readonly agent: string
  readonly server: string
  /** When it begins, in milliseconds since 1970. */
  readonly hour: number
  readonly count: number
}

/** An event as it will be in the log, without what the log adds: the members of a JSON object. */
export interface EventText {
  readonly members: string
}

export type Recordable = SallyportEvent | EventText

/** The durable, append-only order of all events. */
export interface EventLog {
  /** How many records could not be written. */
  readonly failures: number
  /** Why the last write failed; undefined if it did not. */
  readonly problem: SallyportError | undefined
  /** Called when writing begins to fail, and with `undefined` when it works again. There is one listener. */
  onProblem(listener: (problem: SallyportError | undefined) => void): void
  /** The event is written, not only buffered, when this returns. Throws AUDIT_UNAVAILABLE if it cannot be written. */
  append(event: Recordable): void
  /**
   * Resolves once the event is written, together with all others of this turn of the event loop; if it could not be
   * written, resolves with the reason.
   */
  appendSoon(event: Recordable): Promise<SallyportError | undefined>
  /** Called for each event after it was written. Returns the unsubscribe function. */
  watch(listener: (event: LoggedEvent) => void): () => void
  /** The same for the lines of each write, which nobody parses. The bytes are valid only during the call. */
  watchWrites(listener: (lines: Buffer) => void): () => void
  /** The number of the last record. */
  readonly lastSeq: number
  /** Resolves once everything appended before is on disk. */
  sync(): Promise<void>
}

/** The last known catalog of a server, stored so that a start need not wait for the server. */
export interface CatalogCache {
  load(server: string, fingerprint: string): string | undefined
  save(server: string, fingerprint: string, text: string): void
}

/** Definitions of tools as people reviewed them, by pin: they are shown after a server changed them. */
export interface DefinitionStore {
  load(pin: string): string | undefined
  /**
   * If the store is full, definitions that are not `named` are removed: no pin refers to them. Each server has a
   * limited share, so that no server can displace the definitions of others.
   */
  save(server: string, definitions: readonly StoredDefinition[], named: () => ReadonlySet<string>): void
}

export interface StoredDefinition {
  readonly pin: string
  /** Called only if the definition is not stored yet. */
  readonly text: () => string
}

/** What is remembered of one offer of a server: a tool, a prompt, a resource, a template, or its instructions. */
export interface OfferRecord {
  readonly kind: string
  readonly name: string
  /** The digest that was reviewed, or seen first. If tools.yaml has an entry, the pin there takes precedence. */
  readonly pin: string
  /** The digest of the definition that was inspected last, and the version of the inspection rules. */
  readonly inspected: string
  readonly findings: readonly Finding[]
  /** The findings that somebody accepted, or that were known when its entry was written. */
  readonly accepted: readonly string[]
}

export interface OfferRecords {
  load(server: string): readonly OfferRecord[]
  /** Whether they are stored. */
  save(server: string, records: readonly OfferRecord[]): boolean
}

/** One session of one user, as the token names it. */
export interface SessionOwner {
  readonly user: string
  readonly session: string
}

/** A label as it is stored. */
export interface StoredLabel {
  readonly datasets: readonly { readonly name: string; readonly sensitivity: Sensitivity }[]
  /** Why it could not be read in full; then the strictest label is assumed. */
  readonly problem?: string
}

/** A session whose label has risen. */
export interface SessionRecord extends SessionOwner {
  readonly agent: string
  readonly profile: string
  readonly sensitivity: Sensitivity
  /** When the label last rose, in milliseconds. */
  readonly raised: number
}

/** The labels of sessions. Nothing lowers one. */
export interface LabelRecords {
  /** Never rejects. */
  load(owner: SessionOwner): Promise<StoredLabel>
  /** Resolves when it is on disk. */
  raise(owner: SessionOwner, dataset: StoredLabel['datasets'][number]): Promise<void>
  /** Tries once more to store what could not be stored. Rejects if that fails again. */
  settle(owner: SessionOwner): Promise<void>
  /** The sessions that have a label, as far as they are remembered. */
  list(): readonly SessionRecord[]
  remember(session: SessionRecord): void
}

export interface Store {
  readonly labels: LabelRecords
  readonly log: EventLog
  readonly offers: OfferRecords
  readonly definitions: DefinitionStore
  readonly catalogs: CatalogCache
  /** Answers from the index, after the index has caught up with the log. */
  find(filter: EventFilter): Promise<readonly LoggedEvent[]>
  /** How many records of each kind there are since a time, by hour; `undefined` if the index cannot tell. */
  count(since: Date): Promise<readonly EventCount[] | undefined>
  /**
   * When an agent last called each tool, by its recorded name, in milliseconds since 1970; `undefined` if the index
   * cannot tell.
   */
  lastUses(agent: string): Promise<ReadonlyMap<string, number> | undefined>
  /** Yields all matches, oldest first, one by one: for counting more records than memory holds. */
  each(filter: EventFilter, signal?: AbortSignal): AsyncIterable<LoggedEvent>
  /**
   * Sets the limits of retention. Before the first call nothing is removed, unless the store was opened with limits.
   */
  retain(policy: RetentionPolicy): void
  close(): Promise<void>
}
