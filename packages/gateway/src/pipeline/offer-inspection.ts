import { setImmediate } from 'node:timers/promises'
import { type Finding, formatFinding, isJsonObject, type JsonObject, type SallyportEvent } from '@sallyport/core'
import { type Offer, reviewName } from '../catalog/catalog.ts'
import { inspectionKey, inspectOffer, type OfferRegistry, pinOf } from '../governance/governance.ts'
import type { OfferRecord } from '../store/store.ts'
import { findBrokenPin } from './pin-state.ts'
import { notedText } from './policies.ts'
import type { ActiveRules } from './rule-book.ts'

export interface OfferInspectionOptions {
  readonly rules: ActiveRules
  readonly known: OfferRegistry
  /** Why arguments cannot be checked by a schema, if they cannot. */
  readonly findSchemaProblem: (schema: JsonObject) => string | undefined | Promise<string | undefined>
  readonly record: (event: SallyportEvent) => void
  /** In milliseconds. */
  readonly now?: () => number
}

/** Others are served in between. */
const SLICE_MS = 8
/** Other servers wait while the schemas of one are compiled. Those that are left have their turn with the next list. */
const SCHEMA_BUDGET_MS = 3_000
const MAX_REPORTED = 100
const MAX_PROBLEM_LENGTH = 80

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
      const inspected = inspectionKey(offer)
      if (before?.inspected === inspected || this.#hasChanged(offer, before)) continue
      const ofSchema = await this.#schemaFindings(offer, budget)
      const findings = [...inspectOffer(offer), ...(ofSchema ?? [])]
      records.push({ ...(before ?? newRecord(offer)), inspected: ofSchema ? inspected : '', findings })
      const all = [...findings, ...rules.neighbourFindingsOf(offer)]
      if (all.length > 0 && told++ < MAX_REPORTED)
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

  /** What is quite new is held to nothing yet: its policy, which takes longer, is not asked for. */
  #hasChanged(offer: Offer, before: OfferRecord | undefined): boolean {
    const { rules } = this.#options
    const isNew = before === undefined && (offer.kind !== 'tool' || !rules.hasOwnEntry(offer))
    return !isNew && findBrokenPin(offer, rules.policyOf(offer)) !== undefined
  }

  /** Undefined if there was no time. Slow siblings are no fault of its own: a call compiles the schema, and asks if it cannot. */
  async #schemaFindings(offer: Offer, budget: { left: number }): Promise<readonly Finding[] | undefined> {
    const { inputSchema } = offer.original
    if (offer.kind !== 'tool' || !isJsonObject(inputSchema)) return []
    if (budget.left <= 0) return undefined
    const start = this.#now()
    const flaw = await this.#options.findSchemaProblem(inputSchema)
    budget.left -= this.#now() - start
    return flaw === undefined ? [] : [schemaFinding(flaw)]
  }

  /** Pins what no entry does, and remembers which findings people have decided about. Whether anything is new. */
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
    const now = pinOf(offer)
    const own = before.findings.filter(({ kind }) => kind !== 'share')
    const findings = overShare.has(offer) ? [...own, OVER_SHARE] : own
    if (offer.kind !== 'tool' || !rules.hasOwnEntry(offer)) return { ...before, pin: before.pin || now, findings }
    const isKnown = before.pin === now && !written.has(offer)
    if (isKnown || findBrokenPin(offer, rules.policyOf(offer)) !== undefined)
      return isKnown ? { ...before, findings } : before
    // An entry that came with the definition, or was changed for it, knows what was found.
    if (rules.approvalInEntry(offer) === undefined) return { ...before, pin: now, findings }
    const all = [...findings, ...rules.neighbourFindingsOf(offer)]
    const kept = before.accepted.filter((text) => all.some((finding) => formatFinding(finding) === text))
    return { ...before, pin: now, findings, accepted: [...kept, ...all.map(notedText)] }
  }
}

/** What discovery made of the tools that had no entry. */
export interface DiscoveryResult {
  /** Those for which their server's share of entries has no room. */
  readonly overShare: ReadonlySet<Offer>
  /** Those that have an entry now. */
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
  sameTexts(one.accepted, other.accepted) &&
  sameTexts(one.findings.map(formatFinding), other.findings.map(formatFinding))

const sameTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, at) => text === other[at])
