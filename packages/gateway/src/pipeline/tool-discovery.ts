import { formatFinding, type JsonObject, type PolicyValue, type SallyportEvent } from '@sallyport/core'
import { type Catalog, type Offer, reviewName } from '../catalog/catalog.ts'
import { type EntryQuota, type NewEntry, type OfferRegistry, pinOf, reviewedText } from '../governance/governance.ts'
import type { DefinitionStore } from '../store/store.ts'
import type { DiscoveryResult, OfferInspection } from './offer-inspection.ts'
import { findBrokenPin } from './pin-state.ts'
import type { ActiveRules } from './rule-book.ts'
import type { UnmatchedPattern } from './unmatched-patterns.ts'

export interface ToolDiscoveryOptions {
  readonly catalog: Catalog
  readonly rules: ActiveRules
  readonly definitions: DefinitionStore
  readonly known: OfferRegistry
  readonly inspection: OfferInspection
  /** How many entries each server may add. */
  readonly shares: Pick<EntryQuota, 'reserve'>
  /** Of tools.yaml. */
  readonly path: string
  /** Writes entries into it, if that can be done. */
  readonly append: (entries: readonly NewEntry[]) => Promise<void>
  readonly record: (event: SallyportEvent) => void
  /** What is wrong with the entry of a server that has these tools, if anything. */
  readonly findServerProblem: (server: string, tools: readonly string[]) => string | undefined
  /** Patterns of the operator's that fit no tool. */
  readonly findUnmatched: () => readonly UnmatchedPattern[]
  readonly onWarning: (text: string) => void
  /** What is remembered of offers changed. */
  readonly onRemembered: () => void
  /** These have an entry now. */
  readonly onWritten: (offers: readonly Offer[]) => void
  readonly onBug: (error: unknown) => void
  readonly now: () => Date
}

/** Servers start together: what they offer is written down in one go. */
const BATCH_DELAY_MS = 100
const MAX_NAMED = 100

/** An offer whose definition is not the one that was reviewed. */
export interface Drift {
  readonly offer: Offer
  readonly pin: string
  readonly now: string
}

/** Looks at what servers offer: it is inspected, new tools get an entry, and what changed is noticed. */
export class ToolDiscovery {
  readonly #options: ToolDiscoveryOptions
  readonly #servers = new Set<string>()
  /** What stands is told once. By server, and no more of it than what the server offers. */
  readonly #reportedDrifts = new Map<string, ReadonlySet<string>>()
  readonly #reportedProblems = new Map<string, string>()
  /** Servers that were said to be beyond their share. */
  readonly #overShare = new Set<string>()
  readonly #reportedPatterns = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #pending: Promise<void> = Promise.resolve()

  constructor(options: ToolDiscoveryOptions) {
    this.#options = options
  }

  /** A server has told what it offers. */
  enqueue(server: string): void {
    this.#servers.add(server)
    this.#timer ??= setTimeout(() => void this.flush(), BATCH_DELAY_MS)
  }

  /** Everything that was seen is written down, and on the shelf, when it resolves. */
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
    // What inspection found is part of what is written.
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

  /** Writes what the shares of the servers have room for, and gives the rest. */
  async #write(servers: readonly string[], fresh: readonly Offer[]): Promise<ReadonlySet<Offer>> {
    const { shares, append, onWarning } = this.#options
    const entries: NewEntry[] = []
    const beyond = new Set<Offer>()
    for (const server of servers) {
      const own = fresh.filter((offer) => offer.server === server)
      const wanted = own.map((offer) => this.#createEntry(offer))
      const count = wanted.length === 0 ? 0 : shares.reserve(server, wanted)
      entries.push(...wanted.slice(0, count))
      for (const offer of own.slice(count)) beyond.add(offer)
      if (count === own.length) this.#overShare.delete(server)
      else if (!this.#overShare.has(server)) onWarning(overShareWarning(server, own.length - count))
      if (count < own.length) this.#overShare.add(server)
    }
    if (entries.length > 0) await append(entries)
    return beyond
  }

  /** Whether anything is remembered that was not before. */
  #remember(server: string, discovered: DiscoveryResult): boolean {
    const offers = this.#offersOf(server)
    const isNew = this.#options.inspection.remember(server, offers, discovered)
    this.#storeDefinitions(server, offers)
    return isNew
  }

  /** Only what is pinned, which servers cannot have more of than can be remembered: nobody asks for the rest. */
  #storeDefinitions(server: string, offers: readonly Offer[]): void {
    const { rules, known, definitions } = this.#options
    const isPinned = (offer: Offer): boolean =>
      known.find(offer)?.pin === pinOf(offer) || rules.policyOf(offer).pin.some(({ value }) => value === pinOf(offer))
    const kept = offers.filter(isPinned).map((offer) => ({ pin: pinOf(offer), text: () => reviewedText(offer) }))
    definitions.save(server, kept, () => new Set([...rules.pins(), ...known.pins]))
  }

  #reportWritten(offers: readonly Offer[]): void {
    if (offers.length === 0) return
    const { record, path, onWritten } = this.#options
    const tools = offers.slice(0, MAX_NAMED).map(({ recordName }) => recordName)
    record({ type: 'TOOLS_WRITTEN', file: path, tools, count: offers.length })
    onWritten(offers)
  }

  /** The gateway's own change with it, and nobody has to review that. */
  #offersOf(server: string): readonly Offer[] {
    const { tools, prompts, resources, templates, instructions } = this.#options.catalog.snapshot
    return [tools, prompts, resources, templates, instructions].flatMap((offers) =>
      offers.filter((offer) => offer.isMcp && offer.server === server),
    )
  }

  #findDrift(offer: Offer): Drift | undefined {
    const broken = findBrokenPin(offer, this.#options.rules.policyOf(offer))
    return broken && { offer, pin: broken.value, now: pinOf(offer) }
  }

  #reportDrifts(server: string, offers: readonly Offer[]): void {
    const told = this.#reportedDrifts.get(server)
    const standing = new Set<string>()
    this.#reportedDrifts.set(server, standing)
    for (const offer of offers) {
      const drift = this.#findDrift(offer)
      if (drift === undefined) continue
      const { pin, now } = drift
      const name = reviewName(offer)
      const change = `${name}\n${pin}\n${now}`
      standing.add(change)
      if (!told?.has(change)) this.#options.record({ type: 'DEFINITION_DRIFTED', server, tool_name: name, pin, now })
    }
  }

  /** A server that offers nothing may only not have started well. */
  #reportServerProblem(server: string, offers: readonly Offer[]): void {
    const names = offers.flatMap(({ kind, name }) => (kind === 'tool' ? name : []))
    const flaw = names.length === 0 ? undefined : this.#options.findServerProblem(server, names)
    if (flaw !== undefined && flaw !== this.#reportedProblems.get(server)) this.#options.onWarning(flaw)
    if (flaw === undefined) this.#reportedProblems.delete(server)
    else this.#reportedProblems.set(server, flaw)
  }

  #reportUnmatched(): void {
    for (const { location, pattern, problem } of this.#options.findUnmatched()) {
      const where = `${location.file}:${location.line}: `
      // Not by the problem, in which servers have a say.
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
      // What changed while there was no entry is not accepted by writing one.
      pin: known.find(offer)?.pin || pinOf(offer),
    }
  }
}

/** What a pattern of the operator says was not inferred from the tool. */
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
