import type { Finding, LoggedEvent, SallyportError, SallyportEvent } from '@sallyport/core'
import type { RetentionPolicy } from './retention.ts'

export interface EventFilter {
  /** Both ends belong to the time asked for. */
  readonly since?: Date
  readonly until?: Date
  readonly agent?: string
  readonly session?: string
  readonly server?: string
  /** Any way to write a tool's name, or a glob over these. */
  readonly tool?: string
  readonly types?: readonly SallyportEvent['type'][]
  readonly traceId?: string
  readonly callId?: string
  /** The newest ones, oldest first. */
  readonly limit?: number
}

/** An event as it will stand in the log, without what the log adds: the members of a JSON object. */
export interface EventText {
  readonly members: string
}

export type Recordable = SallyportEvent | EventText

/** The durable, append-only order of everything that happened. */
export interface EventLog {
  /** How many records could not be written. */
  readonly failures: number
  /** Why the last write failed; undefined if it did not. */
  readonly problem: SallyportError | undefined
  /** Called when writing begins to fail, and with undefined when it works again. There is one listener. */
  onProblem(listener: (problem: SallyportError | undefined) => void): void
  /** Written (not only buffered) when it returns. Throws AUDIT_UNAVAILABLE when it cannot be. */
  append(event: Recordable): void
  /** Written together with all else of this turn of the event loop when it resolves: with why it is not, where it is not. */
  appendSoon(event: Recordable): Promise<SallyportError | undefined>
  /** Called for each event after it was written. Returns the unsubscribe. */
  watch(listener: (event: LoggedEvent) => void): () => void
  /** Everything appended before is on disk when it resolves. */
  sync(): Promise<void>
}

/** The last known catalogue of a server, kept so that a start need not wait for it. */
export interface CatalogCache {
  load(server: string, fingerprint: string): string | undefined
  save(server: string, fingerprint: string, catalogue: string): void
}

/** Definitions of tools as people reviewed them, by their pins: they are shown after a server changed them. */
export interface DefinitionStore {
  load(pin: string): string | undefined
  /**
   * Where the shelf is full, those make room that are not `named`: no pin is about them. No server has more than its
   * share of the shelf, so that none of them can push out what others have there.
   */
  save(server: string, definitions: readonly StoredDefinition[], named: () => ReadonlySet<string>): void
}

export interface StoredDefinition {
  readonly pin: string
  /** It is asked for where it is not on the shelf yet. */
  readonly text: () => string
}

/** What is remembered of one thing that a server offers: a tool, a prompt, a resource, a template, its instructions. */
export interface OfferRecord {
  readonly kind: string
  readonly name: string
  /** The digest that was reviewed, or seen first. Where tools.yaml has an entry, the pin there counts. */
  readonly pin: string
  /** The digest of the definition that was inspected last, and the version of the rules by which it was. */
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

export interface Store {
  readonly log: EventLog
  readonly offers: OfferRecords
  readonly definitions: DefinitionStore
  readonly catalogs: CatalogCache
  /** Answers from the index, after bringing it up to the log's end. */
  find(filter: EventFilter): Promise<readonly LoggedEvent[]>
  /** All that match, oldest first, one after the other: for what is counted, and may be more than memory holds. */
  each(filter: EventFilter, signal?: AbortSignal): AsyncIterable<LoggedEvent>
  /** From now on no more is kept than this; nothing is removed before it is called, unless the store was opened so. */
  retain(policy: RetentionPolicy): void
  close(): Promise<void>
}
