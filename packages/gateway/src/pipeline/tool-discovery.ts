import type { JsonObject, Ruled, SallyportEvent } from '@sallyport/core'
import type { Catalog, Offer } from '../catalog/catalog.ts'
import { type NewEntry, pinOf, reviewedText } from '../governance/governance.ts'
import type { DefinitionShelf } from '../store/store.ts'
import { brokenPin } from './pin-state.ts'
import type { RuleBook } from './rule-book.ts'

export interface ToolDiscoveryOptions {
  readonly catalog: Catalog
  readonly rules: RuleBook
  readonly definitions: DefinitionShelf
  /** Of tools.yaml. */
  readonly path: string
  /** Writes entries into it, if that can be done. */
  readonly append: (entries: readonly NewEntry[]) => Promise<void>
  readonly record: (event: SallyportEvent) => void
  /** What is wrong with the entry of a server that has these tools, if anything. */
  readonly flawOf: (server: string, tools: readonly string[]) => string | undefined
  readonly onWarning: (text: string) => void
  /** These have an entry now. */
  readonly onWritten: (offers: readonly Offer[]) => void
  readonly onBug: (error: unknown) => void
  readonly now: () => Date
}

/** Servers start together: what they offer is written down in one go. */
const GATHER_MS = 100
const MOST_NAMED = 100

/** A tool whose definition is not the one that was reviewed. */
export interface Drift {
  readonly offer: Offer
  readonly pin: string
  readonly now: string
}

/** Looks at what servers offer: new tools get an entry, and changed ones are noticed. */
export class ToolDiscovery {
  readonly #options: ToolDiscoveryOptions
  readonly #servers = new Set<string>()
  /** What stands is told once. By server, and no more of it than what the server offers. */
  readonly #told = new Map<string, ReadonlySet<string>>()
  readonly #flaws = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void> = Promise.resolve()

  constructor(options: ToolDiscoveryOptions) {
    this.#options = options
  }

  /** A server has told what it offers. */
  seen(server: string): void {
    this.#servers.add(server)
    this.#timer ??= setTimeout(() => void this.flush(), GATHER_MS)
  }

  /** Everything that was seen is written down, and on the shelf, when it resolves. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#servers.size === 0) return this.#working
    this.#working = this.#working.then(() => this.#work()).catch(this.#options.onBug)
    return this.#working
  }

  /** Every tool that is not what was reviewed. */
  get drifts(): readonly Drift[] {
    return this.#toolsOf(() => true).flatMap((offer) => this.#driftOf(offer) ?? [])
  }

  /** Somebody accepted definitions elsewhere: they have to be at hand when their servers change them again. */
  keepPinned(): void {
    this.#shelve(this.#toolsOf(() => true))
  }

  async #work(): Promise<void> {
    const seen = new Set(this.#servers)
    this.#servers.clear()
    const tools = this.#toolsOf(({ server }) => seen.has(server))
    const { rules, append } = this.#options
    for (const server of seen) {
      this.#tellDrifts(server, tools)
      this.#tellFlaw(server, tools)
    }
    const fresh = tools.filter((offer) => !rules.isWritten(offer))
    if (fresh.length > 0) await append(fresh.map((offer) => this.#entryOf(offer)))
    this.#shelve(tools)
    this.#tellWritten(fresh.filter((offer) => rules.isWritten(offer)))
  }

  /** Only what an entry pins, which servers cannot have more of than tools.yaml holds: nobody asks for the rest. */
  #shelve(tools: readonly Offer[]): void {
    const { rules, definitions } = this.#options
    const pinned = tools.filter((offer) => rules.policyOf(offer).pin.some(({ value }) => value === pinOf(offer)))
    const kept = pinned.map((offer) => ({ pin: pinOf(offer), text: () => reviewedText(offer) }))
    definitions.save(kept, rules.pins)
  }

  #tellWritten(offers: readonly Offer[]): void {
    if (offers.length === 0) return
    const { record, path, onWritten } = this.#options
    const tools = offers.slice(0, MOST_NAMED).map(({ recordName }) => recordName)
    record({ type: 'TOOLS_WRITTEN', file: path, tools, count: offers.length })
    onWritten(offers)
  }

  /** The gateway's own tools change with it, and nobody has to review that. */
  #toolsOf(filter: (offer: Offer) => boolean): readonly Offer[] {
    return this.#options.catalog.snapshot.tools.filter((offer) => offer.isMcp && filter(offer))
  }

  #driftOf(offer: Offer): Drift | undefined {
    const broken = brokenPin(offer, this.#options.rules.policyOf(offer))
    return broken && { offer, pin: broken.value, now: pinOf(offer) }
  }

  #tellDrifts(server: string, tools: readonly Offer[]): void {
    const told = this.#told.get(server)
    const standing = new Set<string>()
    this.#told.set(server, standing)
    for (const offer of tools) {
      const drift = offer.server === server ? this.#driftOf(offer) : undefined
      if (drift === undefined) continue
      const { pin, now } = drift
      const { recordName } = offer
      const change = `${recordName}\n${pin}\n${now}`
      standing.add(change)
      if (!told?.has(change))
        this.#options.record({ type: 'DEFINITION_DRIFTED', server, tool_name: recordName, pin, now })
    }
  }

  /** A server that offers nothing may only not have started well. */
  #tellFlaw(server: string, tools: readonly Offer[]): void {
    const names = tools.flatMap((offer) => (offer.server === server ? offer.name : []))
    const flaw = names.length === 0 ? undefined : this.#options.flawOf(server, names)
    if (flaw !== undefined && flaw !== this.#flaws.get(server)) this.#options.onWarning(flaw)
    if (flaw === undefined) this.#flaws.delete(server)
    else this.#flaws.set(server, flaw)
  }

  #entryOf(offer: Offer): NewEntry {
    const { category, permission, risk, requiresApproval, allowedInModes } = this.#options.rules.policyOf(offer)
    return {
      name: offer.recordName,
      description: descriptionOf(offer.original),
      discoveredAt: this.#options.now(),
      findings: this.#options.rules.findingsOf(offer),
      category: category.value,
      permission: inferred(permission),
      riskLevel: inferred(risk),
      requiresApproval: requiresApproval.value,
      allowedInModes: allowedInModes.value,
      pin: pinOf(offer),
    }
  }
}

/** What a pattern of the operator says was not inferred from the tool. */
const inferred = <Value>({ value, reason, rule }: Ruled<Value>) => ({
  value,
  reason: rule ? 'governance.patterns' : reason,
})

const descriptionOf = ({ description, title }: JsonObject): string => {
  if (typeof description === 'string') return description
  return typeof title === 'string' ? title : ''
}
