import { setImmediate } from 'node:timers/promises'
import { type Finding, findingText, isJsonObject, type JsonObject, type SallyportEvent } from '@sallyport/core'
import { type Offer, reviewName } from '../catalog/catalog.ts'
import { inspect, inspectionOf, type KnownOffers, pinOf } from '../governance/governance.ts'
import type { OfferRecord } from '../store/store.ts'
import { brokenPin } from './pin-state.ts'
import { notedText } from './policies.ts'
import type { RuleBook } from './rule-book.ts'

export interface OfferInspectionOptions {
  readonly rules: RuleBook
  readonly known: KnownOffers
  /** Why arguments cannot be checked by a schema, if they cannot. */
  readonly schemaFlaw: (schema: JsonObject) => string | undefined | Promise<string | undefined>
  readonly record: (event: SallyportEvent) => void
  /** In milliseconds. */
  readonly now?: () => number
}

/** Others are served in between. */
const SLICE_MS = 8
/** Other servers wait while the schemas of one are compiled. Those that are left have their turn with the next list. */
const SCHEMA_BUDGET_MS = 3_000
const MAX_TOLD = 100
const MAX_FLAW = 80

/** Inspects what servers offer, once for each definition, and remembers what it was. */
export class OfferInspection {
  readonly #options: OfferInspectionOptions
  readonly #now: () => number

  constructor(options: OfferInspectionOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /**
   * Inspects what has not been yet, and tells whether there was any. What changed after it was reviewed stays as it was
   * remembered until it is accepted.
   */
  async inspect(server: string, offers: readonly Offer[]): Promise<boolean> {
    const { known, rules, record } = this.#options
    const records: OfferRecord[] = []
    const budget = { left: SCHEMA_BUDGET_MS }
    let told = 0
    let sliceEnd = this.#now() + SLICE_MS
    for (const offer of offers) {
      if (this.#now() > sliceEnd) {
        await setImmediate()
        sliceEnd = this.#now() + SLICE_MS
      }
      const before = known.find(offer)
      const inspected = inspectionOf(offer)
      if (before?.inspected === inspected || this.#hasChanged(offer, before)) continue
      const ofSchema = await this.#schemaFindings(offer, budget)
      const findings = [...inspect(offer), ...(ofSchema ?? [])]
      records.push({ ...(before ?? newRecord(offer)), inspected: ofSchema ? inspected : '', findings })
      const all = [...findings, ...rules.neighbourFindingsOf(offer)]
      if (all.length > 0 && told++ < MAX_TOLD)
        record({ type: 'DEFINITION_SUSPICIOUS', server, tool_name: reviewName(offer), findings: all.map(findingText) })
    }
    known.save(server, records)
    return records.length > 0
  }

  /** What is quite new is held to nothing yet: its policy, which takes longer, is not asked for. */
  #hasChanged(offer: Offer, before: OfferRecord | undefined): boolean {
    const { rules } = this.#options
    const isNew = before === undefined && (offer.kind !== 'tool' || !rules.isWritten(offer))
    return !isNew && brokenPin(offer, rules.policyOf(offer)) !== undefined
  }

  /** Undefined if there was no time. Slow siblings are no fault of its own: a call compiles the schema, and asks if it cannot. */
  async #schemaFindings(offer: Offer, budget: { left: number }): Promise<readonly Finding[] | undefined> {
    const { inputSchema } = offer.original
    if (offer.kind !== 'tool' || !isJsonObject(inputSchema)) return []
    if (budget.left <= 0) return undefined
    const start = this.#now()
    const flaw = await this.#options.schemaFlaw(inputSchema)
    budget.left -= this.#now() - start
    return flaw === undefined ? [] : [schemaFinding(flaw)]
  }

  /** Pins what no entry does, and remembers which findings people have decided about. Whether anything is new. */
  remember(server: string, offers: readonly Offer[], { beyond, written }: Discovered): boolean {
    const changed = offers.flatMap((offer) => {
      const before = this.#options.known.find(offer)
      const after = this.#recordOf(offer, before ?? newRecord(offer), { beyond, written })
      return before !== undefined && isSame(before, after) ? [] : [after]
    })
    this.#options.known.save(server, changed)
    return changed.length > 0
  }

  #recordOf(offer: Offer, before: OfferRecord, { beyond, written }: Discovered): OfferRecord {
    const { rules } = this.#options
    const now = pinOf(offer)
    const own = before.findings.filter(({ kind }) => kind !== 'share')
    const findings = beyond.has(offer) ? [...own, BEYOND_SHARE] : own
    if (offer.kind !== 'tool' || !rules.isWritten(offer)) return { ...before, pin: before.pin || now, findings }
    const isKnown = before.pin === now && !written.has(offer)
    if (isKnown || brokenPin(offer, rules.policyOf(offer)) !== undefined)
      return isKnown ? { ...before, findings } : before
    // An entry that came with the definition, or was changed for it, knows what was found.
    if (rules.approvalInEntry(offer) === undefined) return { ...before, pin: now, findings }
    const all = [...findings, ...rules.neighbourFindingsOf(offer)]
    const kept = before.accepted.filter((text) => all.some((finding) => findingText(finding) === text))
    return { ...before, pin: now, findings, accepted: [...kept, ...all.map(notedText)] }
  }
}

/** What discovery made of the tools that had no entry. */
export interface Discovered {
  /** Those for which their server's share of entries has no room. */
  readonly beyond: ReadonlySet<Offer>
  /** Those that have an entry now. */
  readonly written: ReadonlySet<Offer>
}

const BEYOND_SHARE: Finding = {
  kind: 'share',
  where: 'tools.yaml',
  text: 'its server has used up its share of entries, or adds them too fast',
}

const schemaFinding = (why: string): Finding => ({
  kind: 'schema',
  where: 'inputSchema',
  text: `arguments cannot be checked: ${why.replaceAll(/\s+/g, ' ').slice(0, MAX_FLAW)}`,
})

const newRecord = ({ kind, name }: Offer): OfferRecord => ({
  ...{ kind, name, pin: '', inspected: '' },
  findings: [],
  accepted: [],
})

const isSame = (one: OfferRecord, other: OfferRecord): boolean =>
  one.pin === other.pin &&
  sameTexts(one.accepted, other.accepted) &&
  sameTexts(one.findings.map(findingText), other.findings.map(findingText))

const sameTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, at) => text === other[at])
