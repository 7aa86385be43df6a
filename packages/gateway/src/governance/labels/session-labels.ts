import {
  type CallFacts,
  HIGHEST_SENSITIVITY,
  higherSensitivity,
  isAtLeast,
  LOWEST_SENSITIVITY,
  messageOf,
  type Principal,
  type RuleSource,
  type SallyportEvent,
  type Sensitivity,
  toOwnerKey,
} from '@sallyport/core'
import type { LabelRecords, StoredLabel } from '../../store/store.ts'

/** What is known of the data that a session has seen. A new object with every change, so that comparing is enough. */
export interface SessionLabel {
  readonly sensitivity: Sensitivity
  /** The session has read text of a server that is not trusted. */
  readonly isUntrusted: boolean
  /** Sorted by name. */
  readonly datasets: readonly PrivateDataset[]
  /** Why the label could not be read. Then the strictest one is assumed. */
  readonly problem?: string | undefined
}

export interface PrivateDataset {
  readonly name: string
  readonly sensitivity: Sensitivity
}

/** Whose label it is: a session, or the sub-agent of one isolated call. */
export interface LabelHolder {
  readonly current: SessionLabel
}

/** What raises a label, and where that is written. */
export interface LabelRaise {
  readonly datasets: readonly PrivateDataset[]
  readonly reason: string
  readonly rule?: RuleSource | undefined
  /** The call that did it; `undefined` if a person did. */
  readonly call?: Pick<CallFacts, 'call_id' | 'trace_id' | 'server' | 'tool_name'> | undefined
  /** The person who did it, and how. */
  readonly by?: { readonly by: string; readonly via: string } | undefined
}

export interface SessionLabelsOptions {
  readonly records: LabelRecords
  /** Resolves when the event is on disk. */
  readonly record: (event: SallyportEvent) => Promise<void>
  /** A session has a higher sensitivity than before. */
  readonly onRaised?: (() => void) | undefined
  readonly onWarning: (text: string) => void
  /** How many sessions are kept in memory. */
  readonly maxSessions?: number
}

type Owner = Pick<Principal, 'user' | 'session' | 'agent' | 'profile'>

/** The name under which a session remembers that it has read untrusted text. Other names begin with a server's id. */
const UNTRUSTED_TEXT = 'untrusted text'
export const UNTRUSTED_DATASET: PrivateDataset = { name: UNTRUSTED_TEXT, sensitivity: LOWEST_SENSITIVITY }

export const PUBLIC_LABEL: SessionLabel = Object.freeze({
  sensitivity: LOWEST_SENSITIVITY,
  isUntrusted: false,
  datasets: [],
})

const UNKNOWN_LABEL: SessionLabel = Object.freeze({
  sensitivity: HIGHEST_SENSITIVITY,
  isUntrusted: true,
  datasets: [],
  problem: 'it has not been read yet',
})

/** Sessions in memory. The others are read again when they call, unless somebody still holds them. */
const MAX_SESSIONS = 20_000
/** Values that a session may get of what its sub-agents read, since the gateway was started. */
const MAX_NARROW_VALUES = 100
/** Datasets of one session by name; what is beyond counts under one name for each level. */
const MAX_DATASETS = 500

/** The label of every session that calls. It only rises, and is on disk before anything that depends on it leaves. */
export class SessionLabels {
  readonly #options: SessionLabelsOptions
  readonly #byPrincipal = new WeakMap<Principal, LabelledSession>()
  readonly #children = new WeakMap<Principal, ChildSession>()
  readonly #sessions = new Map<string, LabelledSession>()
  readonly #loading = new Map<string, Promise<LabelledSession>>()
  /** Sessions that are not in memory for us any more, as long as somebody else holds them. */
  readonly #held = new Map<string, WeakRef<LabelledSession>>()
  readonly #released = new FinalizationRegistry<string>((key) => {
    if (this.#held.get(key)?.deref() === undefined) this.#held.delete(key)
  })

  constructor(options: SessionLabelsOptions) {
    this.#options = options
  }

  /** The session of a caller; `undefined` if it has to be loaded first. */
  find(principal: Principal): LabelledSession | undefined {
    const known = this.#byPrincipal.get(principal)
    if (known !== undefined) return known
    const key = toOwnerKey(principal)
    // As long as a call or a caller holds a session, there is no second object for it: it could miss what the first raises.
    const session = this.#sessions.get(key) ?? this.#held.get(key)?.deref()
    if (session !== undefined) this.#byPrincipal.set(principal, session)
    return session
  }

  /** Never rejects: a label that cannot be read counts as the strictest. */
  async load(principal: Principal): Promise<LabelledSession> {
    const session = this.find(principal) ?? (await this.#loadOnce(principal))
    this.#byPrincipal.set(principal, session)
    return session
  }

  /** The label of a caller now. One that is not in memory counts as the strictest. */
  labelOf(principal: Principal): SessionLabel {
    return (this.#children.get(principal) ?? this.find(principal))?.current ?? UNKNOWN_LABEL
  }

  /** A session for the sub-agent of one call: for servers it is a session of its own, so that it leaves nothing behind. */
  createChild(parent: LabelHolder, principal: Principal, call: string): ChildSession {
    const own = Object.freeze({ ...principal, session: `${principal.session}/${call}` })
    const child = new ChildSession(parent, own)
    this.#children.set(own, child)
    return child
  }

  /** Counts values that a sub-agent is about to return. False if the session has had as many as it may. */
  mayTakeNarrowValues(holder: LabelHolder, count: number): boolean {
    return holder instanceof LabelledSession && holder.takeNarrowValues(count)
  }

  /** The sessions in memory that have a label or have called, newest last. */
  get known(): readonly LabelledSession[] {
    return [...this.#sessions.values()]
  }

  /**
   * Raises the label at once for everything that is decided from now on. Resolves when it is on disk, and rejects if it
   * cannot be stored: then nothing that depends on it may leave. `undefined` if there is nothing to wait for.
   */
  raise(holder: LabelHolder, raise: LabelRaise): Promise<void> | undefined {
    if (holder instanceof ChildSession) {
      holder.raise(raise.datasets)
      this.#options.onRaised?.()
      return undefined
    }
    if (!(holder instanceof LabelledSession)) return undefined
    const { from, added } = holder.raise(raise.datasets)
    if (added.length > 0) holder.store(this.#store(holder, added, { from, raise }))
    if (holder.current.sensitivity !== from.sensitivity) this.#options.onRaised?.()
    return this.settle(holder)
  }

  /** Resolves when all that was raised so far is on disk, also by other calls. `undefined` if it is. */
  settle(holder: LabelHolder): Promise<void> | undefined {
    if (!(holder instanceof LabelledSession)) return undefined
    return holder.settled(() => this.#options.records.settle(holder.owner))
  }

  async #store(
    session: LabelledSession,
    added: readonly PrivateDataset[],
    { from, raise }: { readonly from: SessionLabel; readonly raise: LabelRaise },
  ): Promise<void> {
    const { owner } = session
    const to = session.current
    const { records, record, onWarning } = this.#options
    await Promise.all(added.map((dataset) => records.raise(owner, dataset)))
    records.remember({ ...owner, sensitivity: to.sensitivity, raised: Date.now() })
    // The label protects also without its record; a call whose own record cannot be written is refused anyway.
    await record(raisedEvent(owner, { from, to, added, raise })).catch((error: unknown) =>
      onWarning(`SENSITIVITY_RAISED could not be recorded: ${messageOf(error)}`),
    )
  }

  #loadOnce(principal: Principal): Promise<LabelledSession> {
    const key = toOwnerKey(principal)
    const loading = this.#loading.get(key) ?? this.#read(principal, key).finally(() => this.#loading.delete(key))
    this.#loading.set(key, loading)
    return loading
  }

  async #read(principal: Principal, key: string): Promise<LabelledSession> {
    const { user, session, agent, profile } = principal
    const stored = await this.#options.records.load(principal)
    if (stored.problem !== undefined)
      this.#options.onWarning(
        `The label of session ${session} of ${user} counts as ${HIGHEST_SENSITIVITY}: ${stored.problem}.`,
      )
    const loaded = new LabelledSession({ user, session, agent, profile }, stored)
    if (this.#sessions.size >= (this.#options.maxSessions ?? MAX_SESSIONS)) this.#forgetOldest()
    this.#sessions.set(key, loaded)
    return loaded
  }

  #forgetOldest(): void {
    for (const [key, session] of this.#sessions) {
      if (session.isStoring) continue
      this.#held.set(key, new WeakRef(session))
      this.#released.register(session, key)
      this.#sessions.delete(key)
      return
    }
  }
}

/** One session, with what it may still have to store. */
export class LabelledSession implements LabelHolder {
  readonly owner: Owner
  readonly #datasets: Map<string, Sensitivity>
  readonly #problem: string | undefined
  readonly #storing = new Set<Promise<void>>()
  /** Something of it could not be stored. It is tried again before the next result is released. */
  #hasUnstored = false
  #narrowValues = 0
  #current: SessionLabel
  /** When it first called, and when its label last rose. */
  readonly since = new Date()
  raisedAt: Date | undefined

  constructor(owner: Owner, { datasets, problem }: StoredLabel) {
    this.owner = owner
    this.#datasets = new Map(datasets.map(({ name, sensitivity }) => [name, sensitivity]))
    this.#problem = problem
    this.#current = createLabel(this.#datasets, problem)
  }

  get current(): SessionLabel {
    return this.#current
  }

  get isStoring(): boolean {
    return this.#storing.size > 0
  }

  /** Returns the label before, and what of the datasets is new. */
  raise(datasets: readonly PrivateDataset[]): {
    readonly from: SessionLabel
    readonly added: readonly PrivateDataset[]
  } {
    const from = this.#current
    const added = datasets
      .map((dataset) => this.#bounded(dataset))
      .filter((dataset) => raiseIn(this.#datasets, dataset))
    if (added.length > 0) {
      this.#current = createLabel(this.#datasets, this.#problem)
      if (this.#current.sensitivity !== from.sensitivity) this.raisedAt = new Date()
    }
    return { from, added }
  }

  takeNarrowValues(count: number): boolean {
    if (this.#narrowValues + count > MAX_NARROW_VALUES) return false
    this.#narrowValues += count
    return true
  }

  store(storing: Promise<void>): void {
    this.#storing.add(storing)
    const done = (): void => void this.#storing.delete(storing)
    storing.then(done, () => {
      this.#hasUnstored = true
      done()
    })
  }

  /** Also what other calls have raised: their data may be in this result, too. */
  settled(retry: () => Promise<void>): Promise<void> | undefined {
    return this.#storing.size === 0 && !this.#hasUnstored ? undefined : this.#settle(retry)
  }

  async #settle(retry: () => Promise<void>): Promise<void> {
    while (this.#storing.size > 0) await Promise.allSettled(this.#storing)
    if (!this.#hasUnstored) return
    await retry()
    this.#hasUnstored = false
  }

  /** A server may name as many datasets as it likes. */
  #bounded(dataset: PrivateDataset): PrivateDataset {
    if (this.#datasets.size < MAX_DATASETS || this.#datasets.has(dataset.name)) return dataset
    return { name: `more than ${MAX_DATASETS} datasets`, sensitivity: dataset.sensitivity }
  }
}

/** The label of the sub-agent of one isolated call: at least that of the session. What it raises ends with the call. */
export class ChildSession implements LabelHolder {
  /** Who calls, for servers. */
  readonly principal: Principal
  readonly #parent: LabelHolder
  readonly #own = new Map<string, Sensitivity>()
  #parentLabel: SessionLabel
  #current: SessionLabel

  constructor(parent: LabelHolder, principal: Principal) {
    this.#parent = parent
    this.principal = principal
    this.#parentLabel = parent.current
    this.#current = parent.current
  }

  get current(): SessionLabel {
    if (this.#parent.current !== this.#parentLabel) this.#combine()
    return this.#current
  }

  raise(datasets: readonly PrivateDataset[]): void {
    for (const dataset of datasets) raiseIn(this.#own, dataset)
    this.#combine()
  }

  #combine(): void {
    this.#parentLabel = this.#parent.current
    const { datasets, problem } = this.#parentLabel
    const all = new Map(datasets.map(({ name, sensitivity }) => [name, sensitivity]))
    for (const [name, sensitivity] of this.#own) raiseIn(all, { name, sensitivity })
    this.#current = createLabel(all, problem)
  }
}

/** Returns whether that changed anything. */
function raiseIn(datasets: Map<string, Sensitivity>, { name, sensitivity }: PrivateDataset): boolean {
  const before = datasets.get(name)
  if (before !== undefined && isAtLeast(before, sensitivity)) return false
  datasets.set(name, sensitivity)
  return true
}

function createLabel(datasets: ReadonlyMap<string, Sensitivity>, problem: string | undefined): SessionLabel {
  if (datasets.size === 0 && problem === undefined) return PUBLIC_LABEL
  let sensitivity: Sensitivity = problem === undefined ? LOWEST_SENSITIVITY : HIGHEST_SENSITIVITY
  for (const each of datasets.values()) sensitivity = higherSensitivity(sensitivity, each)
  const sorted = [...datasets].sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.freeze({
    sensitivity,
    isUntrusted: problem !== undefined || datasets.has(UNTRUSTED_TEXT),
    datasets: sorted.map(([name, level]) => ({ name, sensitivity: level })),
    problem,
  })
}

interface RaiseFacts {
  readonly from: SessionLabel
  readonly to: SessionLabel
  readonly added: readonly PrivateDataset[]
  readonly raise: LabelRaise
}

/** Names in one record; a label has them all. */
const MAX_RECORDED_NAMES = 20

function raisedEvent(
  { user, agent, profile, session }: Owner,
  { from, to, added, raise: { reason, rule, call, by } }: RaiseFacts,
): SallyportEvent {
  return {
    type: 'SENSITIVITY_RAISED',
    ...{ user, agent, profile, session },
    from: from.sensitivity,
    to: to.sensitivity,
    ...(to.isUntrusted && { untrusted: true }),
    datasets: added.slice(0, MAX_RECORDED_NAMES).map(({ name }) => name),
    reason,
    ...call,
    ...(rule && { rule }),
    ...by,
  }
}
