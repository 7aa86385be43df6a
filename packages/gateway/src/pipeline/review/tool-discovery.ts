import { setImmediate } from 'node:timers/promises'
import {
  type Finding,
  formatFinding,
  isJsonObject,
  type JsonObject,
  type PolicyValue,
  type SallyportEvent,
} from '@sallyport/core'
import { type Catalog, type Offer, reviewName } from '../../catalog/catalog.ts'
import {
  computePin,
  type EntryQuota,
  inspectionKey,
  inspectOffer,
  type NewEntry,
  type OfferRegistry,
  reviewedText,
} from '../../governance/governance.ts'
import type { DefinitionStore, OfferRecord } from '../../store/store.ts'
import type { ActiveRules } from '../rules/active-rules.ts'
import { notedText } from '../rules/policies.ts'
import { findBrokenPin } from '../steps/pin-state.ts'
import type { UnmatchedPattern } from './unmatched-patterns.ts'

export interface ToolDiscoveryOptions {
  readonly catalog: Catalog
  readonly rules: ActiveRules
  readonly definitions: DefinitionStore
  readonly known: OfferRegistry
  readonly inspection: OfferInspection
  /** How many entries each server may add. */
  readonly shares: Pick<EntryQuota, 'reserve'>
  /** The path of tools.yaml. */
  readonly path: string
  /** Writes entries into tools.yaml, if possible. */
  readonly append: (entries: readonly NewEntry[]) => Promise<void>
  readonly record: (event: SallyportEvent) => void
  /** What is wrong with the entry of a server that has these tools; `undefined` if nothing is. */
  readonly findServerProblem: (server: string, tools: readonly string[]) => string | undefined
  /** Patterns of the operator that match no tool. */
  readonly findUnmatched: () => readonly UnmatchedPattern[]
  readonly onWarning: (text: string) => void
  /** The stored records of offers changed. */
  readonly onRemembered: () => void
  /** These offers have an entry now. */
  readonly onWritten: (offers: readonly Offer[]) => void
  readonly onBug: (error: unknown) => void
  readonly now: () => Date
}

/** Servers start together, so their new tools are written in one batch. */
const BATCH_DELAY_MS = 100
const MAX_NAMED = 100

/** An offer whose definition is not the one that was reviewed. */
export interface Drift {
  readonly offer: Offer
  readonly pin: string
  readonly now: string
}

/** Inspects what servers offer, writes entries for new tools, and reports changed definitions. */
export class ToolDiscovery {
  readonly #options: ToolDiscoveryOptions
  readonly #servers = new Set<string>()
  /** By server: drifts that were reported already. Only current ones are remembered, so the map stays small. */
  readonly #reportedDrifts = new Map<string, ReadonlySet<string>>()
  readonly #reportedProblems = new Map<string, string>()
  /** Servers that were reported to be over their share of entries. */
  readonly #overShare = new Set<string>()
  readonly #reportedPatterns = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #pending: Promise<void> = Promise.resolve()

  constructor(options: ToolDiscoveryOptions) {
    this.#options = options
  }

  /** A server has sent its catalog. */
  enqueue(server: string): void {
    this.#servers.add(server)
    this.#timer ??= setTimeout(() => void this.flush(), BATCH_DELAY_MS)
  }

  /** When it resolves, everything that was discovered is written and stored. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#servers.size === 0) return this.#pending
    this.#pending = this.#pending.then(() => this.#processServers()).catch(this.#options.onBug)
    return this.#pending
  }

  async #processServers(): Promise<void> {
    const seen = [...this.#servers]
    this.#servers.clear()
    const { inspection, rules, onRemembered } = this.#options
    let isNew = false
    for (const server of seen) isNew = (await inspection.inspect(server, this.#offersOf(server))) || isNew
    // The findings of the inspection are part of the entries.
    if (isNew) rules.invalidate()
    for (const server of seen) {
      const offers = this.#offersOf(server)
      this.#reportDrifts(server, offers)
      this.#reportServerProblem(server, offers)
    }
    const tools = seen.flatMap((server) => this.#offersOf(server)).filter(({ kind }) => kind === 'tool')
    const fresh = tools.filter((offer) => !rules.hasOwnEntry(offer))
    const overShare = await this.#write(seen, fresh)
    const written = new Set(fresh.filter((offer) => rules.hasOwnEntry(offer)))
    for (const server of seen) isNew = this.#remember(server, { overShare, written }) || isNew
    if (isNew) onRemembered()
    this.#reportWritten([...written])
    this.#reportUnmatched()
  }

  /** Writes as many entries as the servers' shares allow, and returns the other offers. */
  async #write(servers: readonly string[], fresh: readonly Offer[]): Promise<ReadonlySet<Offer>> {
    const { shares, append, onWarning } = this.#options
    const entries: NewEntry[] = []
    const overShare = new Set<Offer>()
    for (const server of servers) {
      const own = fresh.filter((offer) => offer.server === server)
      const wanted = own.map((offer) => this.#createEntry(offer))
      const count = wanted.length === 0 ? 0 : shares.reserve(server, wanted)
      entries.push(...wanted.slice(0, count))
      for (const offer of own.slice(count)) overShare.add(offer)
      if (count === own.length) this.#overShare.delete(server)
      else if (!this.#overShare.has(server)) onWarning(overShareWarning(server, own.length - count))
      if (count < own.length) this.#overShare.add(server)
    }
    if (entries.length > 0) await append(entries)
    return overShare
  }

  /** Returns whether a stored record changed. */
  #remember(server: string, discovered: DiscoveryResult): boolean {
    const offers = this.#offersOf(server)
    const isNew = this.#options.inspection.remember(server, offers, discovered)
    this.#storeDefinitions(server, offers)
    return isNew
  }

  /** Stores only pinned definitions: their number is limited, and nobody needs the others. */
  #storeDefinitions(server: string, offers: readonly Offer[]): void {
    const { rules, known, definitions } = this.#options
    const isPinned = (offer: Offer): boolean =>
      known.find(offer)?.pin === computePin(offer) ||
      rules.policyOf(offer).pin.some(({ value }) => value === computePin(offer))
    const pinned = offers.filter(isPinned).map((offer) => ({ pin: computePin(offer), text: () => reviewedText(offer) }))
    definitions.save(server, pinned, () => new Set([...rules.pins(), ...known.pins]))
  }

  #reportWritten(offers: readonly Offer[]): void {
    if (offers.length === 0) return
    const { record, path, onWritten } = this.#options
    const tools = offers.slice(0, MAX_NAMED).map(({ recordName }) => recordName)
    record({ type: 'TOOLS_WRITTEN', file: path, tools, count: offers.length })
    onWritten(offers)
  }

  /** Without the gateway's own offers: they change only with its version, and nobody has to review them. */
  #offersOf(server: string): readonly Offer[] {
    const { tools, prompts, resources, templates, instructions, revealed } = this.#options.catalog.snapshot
    return [tools, prompts, resources, templates, instructions, ...Object.values(revealed)].flatMap((offers) =>
      offers.filter((offer) => offer.isMcp && offer.server === server),
    )
  }

  #findDrift(offer: Offer): Drift | undefined {
    const broken = findBrokenPin(offer, this.#options.rules.policyOf(offer))
    return broken && { offer, pin: broken.value, now: computePin(offer) }
  }

  #reportDrifts(server: string, offers: readonly Offer[]): void {
    const reported = this.#reportedDrifts.get(server)
    const current = new Set<string>()
    this.#reportedDrifts.set(server, current)
    for (const offer of offers) {
      const drift = this.#findDrift(offer)
      if (drift === undefined) continue
      const { pin, now } = drift
      const name = reviewName(offer)
      const change = `${name}\n${pin}\n${now}`
      current.add(change)
      if (!reported?.has(change))
        this.#options.record({ type: 'DEFINITION_DRIFTED', server, tool_name: name, pin, now })
    }
  }

  /** Skips a server without tools: it may just have failed to start. */
  #reportServerProblem(server: string, offers: readonly Offer[]): void {
    const names = offers.flatMap(({ kind, name }) => (kind === 'tool' ? name : []))
    const problem = names.length === 0 ? undefined : this.#options.findServerProblem(server, names)
    if (problem !== undefined && problem !== this.#reportedProblems.get(server)) this.#options.onWarning(problem)
    if (problem === undefined) this.#reportedProblems.delete(server)
    else this.#reportedProblems.set(server, problem)
  }

  #reportUnmatched(): void {
    for (const { location, pattern, problem } of this.#options.findUnmatched()) {
      const where = `${location.file}:${location.line}: `
      // Not by the problem text, which servers can influence.
      if (!this.#reportedPatterns.has(where + pattern)) this.#options.onWarning(where + problem)
      this.#reportedPatterns.add(where + pattern)
    }
  }

  #createEntry(offer: Offer): NewEntry {
    const { rules, known } = this.#options
    const { category, permission, risk, requiresApproval, allowedInModes } = rules.policyOf(offer)
    const findings = rules.findingsOf(offer).filter(({ kind }) => kind !== 'share')
    return {
      name: offer.recordName,
      description: descriptionOf(offer.original),
      discoveredAt: this.#options.now(),
      findings: findings.map(formatFinding),
      category: category.value,
      permission: inferred(permission),
      riskLevel: inferred(risk),
      requiresApproval: requiresApproval.value || findings.length > 0,
      allowedInModes: allowedInModes.value,
      // Writing an entry must not accept a definition that changed while there was none.
      pin: known.find(offer)?.pin || computePin(offer),
    }
  }
}

/** The reason of a value. A value from a pattern of the operator was not inferred from the tool. */
const inferred = <Value>({ value, reason, rule }: PolicyValue<Value>) => ({
  value,
  reason: rule ? 'governance.patterns' : reason,
})

const descriptionOf = ({ description, title }: JsonObject): string => {
  if (typeof description === 'string') return description
  return typeof title === 'string' ? title : ''
}

const overShareWarning = (server: string, count: number): string =>
  `Server ${server} offers more new tools than its share of tools.yaml has room for: ${count} have no entry, and each of their calls asks a person.`

interface OfferInspectionOptions {
  readonly rules: ActiveRules
  readonly known: OfferRegistry
  /** Why arguments cannot be checked with a schema; `undefined` if they can. */
  readonly findSchemaProblem: (schema: JsonObject) => string | undefined | Promise<string | undefined>
  readonly record: (event: SallyportEvent) => void
  /** In milliseconds. */
  readonly now?: () => number
}

/** After this time the loop yields, so that other requests are served. */
const SLICE_MS = 8
/** Other servers wait while the schemas of one are compiled. The remaining schemas are compiled with the next list. */
const SCHEMA_BUDGET_MS = 3_000
const MAX_REPORTED = 100
const MAX_PROBLEM_LENGTH = 80

/** Inspects each definition once, and stores a record of it. */
export class OfferInspection {
  readonly #options: OfferInspectionOptions
  readonly #now: () => number

  constructor(options: OfferInspectionOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /**
   * Inspects new definitions, and returns whether there were any. The record of an offer that changed after its review
   * stays unchanged until the change is accepted.
   */
  async inspect(server: string, offers: readonly Offer[]): Promise<boolean> {
    const { known, rules, record } = this.#options
    const records: OfferRecord[] = []
    const budget = { left: SCHEMA_BUDGET_MS }
    let reported = 0
    let sliceEnd = this.#now() + SLICE_MS
    for (const offer of offers) {
      if (this.#now() > sliceEnd) {
        await setImmediate()
        sliceEnd = this.#now() + SLICE_MS
      }
      const before = known.find(offer)
      const inspected = inspectionKey(offer)
      if (before?.inspected === inspected || this.#hasChanged(offer, before)) continue
      const ofSchema = await this.#schemaFindings(offer, budget)
      const findings = [...inspectOffer(offer), ...(ofSchema ?? [])]
      records.push({ ...(before ?? newRecord(offer)), inspected: ofSchema ? inspected : '', findings })
      const all = [...findings, ...rules.neighbourFindingsOf(offer)]
      if (all.length > 0 && reported++ < MAX_REPORTED)
        record({
          type: 'DEFINITION_SUSPICIOUS',
          server,
          tool_name: reviewName(offer),
          findings: all.map(formatFinding),
        })
    }
    known.save(server, records)
    return records.length > 0
  }

  /** A new offer has no pin yet, so its policy, which takes longer to resolve, is not needed. */
  #hasChanged(offer: Offer, before: OfferRecord | undefined): boolean {
    const { rules } = this.#options
    const isNew = before === undefined && (offer.kind !== 'tool' || !rules.hasOwnEntry(offer))
    return !isNew && findBrokenPin(offer, rules.policyOf(offer)) !== undefined
  }

  /** `undefined` if there was no time left. That is not a finding: a call compiles the schema later, and needs approval if that fails. */
  async #schemaFindings(offer: Offer, budget: { left: number }): Promise<readonly Finding[] | undefined> {
    const { inputSchema } = offer.original
    if (offer.kind !== 'tool' || !isJsonObject(inputSchema)) return []
    if (budget.left <= 0) return undefined
    const start = this.#now()
    const problem = await this.#options.findSchemaProblem(inputSchema)
    budget.left -= this.#now() - start
    return problem === undefined ? [] : [schemaFinding(problem)]
  }

  /** Pins offers without an entry, and stores which findings people have decided about. Returns whether a record changed. */
  remember(server: string, offers: readonly Offer[], { overShare, written }: DiscoveryResult): boolean {
    const changed = offers.flatMap((offer) => {
      const before = this.#options.known.find(offer)
      const after = this.#updateRecord(offer, before ?? newRecord(offer), { overShare, written })
      return before !== undefined && isSame(before, after) ? [] : [after]
    })
    this.#options.known.save(server, changed)
    return changed.length > 0
  }

  #updateRecord(offer: Offer, before: OfferRecord, { overShare, written }: DiscoveryResult): OfferRecord {
    const { rules } = this.#options
    const now = computePin(offer)
    const own = before.findings.filter(({ kind }) => kind !== 'share')
    const findings = overShare.has(offer) ? [...own, OVER_SHARE] : own
    if (offer.kind !== 'tool' || !rules.hasOwnEntry(offer)) return { ...before, pin: before.pin || now, findings }
    const isKnown = before.pin === now && !written.has(offer)
    if (isKnown || findBrokenPin(offer, rules.policyOf(offer)) !== undefined)
      return isKnown ? { ...before, findings } : before
    // An entry that was written or changed for this definition already takes the findings into account.
    if (rules.approvalInEntry(offer) === undefined) return { ...before, pin: now, findings }
    const all = [...findings, ...rules.neighbourFindingsOf(offer)]
    const stillFound = before.accepted.filter((text) => all.some((finding) => formatFinding(finding) === text))
    return { ...before, pin: now, findings, accepted: [...stillFound, ...all.map(notedText)] }
  }
}

/** What happened to the tools that had no entry. */
interface DiscoveryResult {
  /** Tools for which the server's share of entries has no room. */
  readonly overShare: ReadonlySet<Offer>
  /** Tools that have an entry now. */
  readonly written: ReadonlySet<Offer>
}

const OVER_SHARE: Finding = {
  kind: 'share',
  where: 'tools.yaml',
  text: 'its server has used up its share of entries, or adds them too fast',
}

const schemaFinding = (why: string): Finding => ({
  kind: 'schema',
  where: 'inputSchema',
  text: `arguments cannot be checked: ${why.replaceAll(/\s+/g, ' ').slice(0, MAX_PROBLEM_LENGTH)}`,
})

const newRecord = ({ kind, name }: Offer): OfferRecord => ({
  ...{ kind, name, pin: '', inspected: '' },
  findings: [],
  accepted: [],
})

const isSame = (one: OfferRecord, other: OfferRecord): boolean =>
  one.pin === other.pin &&
  hasSameItems(one.accepted, other.accepted) &&
  hasSameItems(one.findings.map(formatFinding), other.findings.map(formatFinding))

const hasSameItems = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, at) => text === other[at])
