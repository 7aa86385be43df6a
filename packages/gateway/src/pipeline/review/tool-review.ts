import {
  type DiffLine,
  diffLines,
  formatFinding,
  type Json,
  type JsonObject,
  quoteForShell,
  SallyportError,
  type SallyportEvent,
  type ToolEntry,
} from '@sallyport/core'
import { type Catalog, type Offer, reviewName } from '../../catalog/catalog.ts'
import { computePin, type OfferRegistry, reviewedText, type ToolsEditor } from '../../governance/governance.ts'
import type { DefinitionStore, OfferRecord } from '../../store/store.ts'
import type { ActiveRules } from '../rules/active-rules.ts'
import { findBrokenPin, resolvePinState } from '../steps/pin-state.ts'
import type { ReviewedTool } from './reviewed-tool.ts'
import type { ToolDiscovery, ToolDiscoveryOptions } from './tool-discovery.ts'
import { collectToolProblems, type ProblemSources, type ToolProblem } from './tool-problems.ts'
import { findUnmatchedEntries } from './unmatched-entries.ts'
import type { UnmatchedPattern } from './unmatched-patterns.ts'

export interface ToolReviewOptions {
  readonly catalog: Catalog
  readonly rules: ActiveRules
  readonly editor: ToolsEditor
  readonly discovery: ToolDiscovery
  readonly definitions: DefinitionStore
  readonly known: OfferRegistry
  /** The stored records of offers changed. */
  readonly onRemembered: () => void
  /** The definition with this digest; `undefined` if it was not stored. */
  readonly loadPinned: (pin: string) => JsonObject | undefined
  readonly findPresetProblem: ProblemSources['findPresetProblem']
  /** What is wrong with the entry of a server that has these tools; `undefined` if nothing is. */
  readonly findServerProblem: ToolDiscoveryOptions['findServerProblem']
  /** Servers that are not started until their entry is corrected, each with the reason. */
  readonly heldBack: () => readonly string[]
  /** Patterns of the operator that match no tool. */
  readonly findUnmatched: () => readonly UnmatchedPattern[]
  /** The event is on disk when this resolves. */
  readonly record: (event: SallyportEvent) => Promise<void>
  readonly now: () => Date
}

/** The current definition and the reviewed one. */
export interface DefinitionReview {
  /** The digest of the current definition, which a person accepts after seeing it. */
  readonly now: string
  readonly pin: string | undefined
  readonly reviewed: JsonObject | undefined
  readonly changes: readonly PartDiff[]
}

export interface Acceptance {
  /** The digest of the definition that was shown to the person who accepts it. */
  readonly shown: string
  readonly by: string
  readonly via: string
}

/** What people see and decide about the offers of servers. */
export class ToolReview {
  readonly #options: ToolReviewOptions

  constructor(options: ToolReviewOptions) {
    this.#options = options
  }

  get path(): string {
    return this.#options.editor.file.path
  }

  /** How many entries are in force. */
  get entries(): number {
    return this.#options.editor.file.entries.length
  }

  /** Resolves when the discovered tools have their entries, as far as possible. */
  flushDiscovery(): Promise<void> {
    return this.#options.discovery.flush()
  }

  /** Why discovered tools have no entry. */
  get notWritten(): readonly string[] {
    return this.#options.editor.notWritten
  }

  reviewOf(offer: Offer): ReviewedTool {
    const { rules } = this.#options
    const policy = rules.policyOf(offer)
    return {
      policy,
      entries: rules.entriesOf(offer),
      hasOwnEntry: rules.hasOwnEntry(offer),
      ownEntries: rules.ownEntriesOf(offer),
      pin: resolvePinState(offer, policy),
      findings: rules.findingsOf(offer).map(formatFinding),
      openFindings: rules.openFindingsOf(offer).map(formatFinding),
    }
  }

  /** All offers of servers that are not tools. */
  otherOffers(): readonly Offer[] {
    const { prompts, resources, templates, instructions, revealed } = this.#options.catalog.snapshot
    const common = [...prompts, ...resources, ...templates, ...instructions].filter(({ isMcp }) => isMcp)
    return [...common, ...revealed.prompts, ...revealed.resources, ...revealed.templates]
  }

  definitionOf(offer: Offer): DefinitionReview {
    const now = computePin(offer)
    const pin = this.#computePin(offer)
    const reviewed = pin === undefined ? undefined : this.#options.loadPinned(pin)
    const changes =
      pin === undefined || pin === now ? [] : diffDefinitions(reviewed, JSON.parse(reviewedText(offer)) as JsonObject)
    return { now, pin, reviewed, changes }
  }

  /** The pin of an offer. If there are several, one that does not match the definition. */
  #computePin(offer: Offer): string | undefined {
    const policy = this.#options.rules.policyOf(offer)
    return (findBrokenPin(offer, policy) ?? policy.pin[0])?.value
  }

  /** Everything about tools and tools.yaml that a person should check. */
  problems(): readonly ToolProblem[] {
    const { catalog, editor, findPresetProblem, rules } = this.#options
    const tools = catalog.snapshot.allTools.filter(({ isMcp }) => isMcp)
    const others = this.otherOffers()
    const unmatchedEntries = findUnmatchedEntries({ catalog, entries: editor.file.entries, entriesOf: rules.entriesOf })
    const unmatchedPatterns = this.#options.findUnmatched()
    const reviewOf = (offer: Offer): ReviewedTool => this.reviewOf(offer)
    const invalid = groupByServer(tools).flatMap(
      ([server, names]) => this.#options.findServerProblem(server, names) ?? [],
    )
    const serverProblems = [...this.#options.heldBack(), ...invalid]
    const problems = {
      serverProblems,
      unmatchedPatterns,
      unmatchedEntries,
      findPresetProblem,
      problemsOf: rules.problemsOf,
    }
    return collectToolProblems({ editor, tools, others, reviewOf, ...problems })
  }

  /** Accepts the definition that a person has seen. If it changed meanwhile, it stays refused. */
  async accept(offer: Offer, acceptance: Acceptance): Promise<void> {
    const { rules } = this.#options
    const { shown } = acceptance
    if (shown !== computePin(offer)) throw changedAgain(offer)
    const findings = rules.findingsOf(offer).map(formatFinding)
    const hasOpenFindings = rules.openFindingsOf(offer).length > 0
    if (this.#isPinnedInFile(offer)) await this.#acceptInFile(offer, acceptance)
    else await this.#acceptInState(offer, acceptance)
    if (hasOpenFindings) await this.#acceptFindings(offer, findings, acceptance)
  }

  #isPinnedInFile(offer: Offer): boolean {
    const { rules } = this.#options
    if (offer.kind !== 'tool') return false
    return rules.hasOwnEntry(offer) || rules.entriesOf(offer).some(({ fields: { pin } }) => pin !== undefined)
  }

  async #acceptInFile(offer: Offer, { shown, by, via }: Acceptance): Promise<void> {
    const { editor, rules } = this.#options
    const entries = this.#entriesToPin(offer, shown)
    if (entries.length === 0) return
    const from = this.#computePin(offer) ?? ''
    this.#storeDefinition(offer)
    const event = { type: 'PIN_CHANGED', tool_name: offer.recordName, by, via } as const
    // Recorded first: after a crash there must be no accepted definition that is missing in the log.
    await this.#options.record({ ...event, from, to: shown })
    try {
      const comment = `accepted by ${by}, ${this.#options.now().toISOString().slice(0, 10)}`
      for (const { key } of entries) await editor.set({ key, field: 'pin', value: shown, comment })
    } catch (error) {
      await this.#options.record({ ...event, from: shown, to: from })
      throw error
    }
    // Stored again: before an entry named it, it may have been removed to make room.
    this.#storeDefinition(offer)
    if (resolvePinState(offer, rules.policyOf(offer)) !== 'pinned') throw notInForce(this.path)
  }

  /** For offers without an entry: their pins are in the state. */
  async #acceptInState(offer: Offer, { shown, by, via }: Acceptance): Promise<void> {
    const from = this.#computePin(offer) ?? ''
    if (from === shown) return
    this.#storeDefinition(offer)
    await this.#options.record({ type: 'PIN_CHANGED', tool_name: reviewName(offer), from, to: shown, by, via })
    this.#storeRecord(offer, { pin: shown })
  }

  async #acceptFindings(offer: Offer, findings: readonly string[], { by, via }: Acceptance): Promise<void> {
    await this.#options.record({ type: 'FINDINGS_ACCEPTED', tool_name: reviewName(offer), findings, by, via })
    const isAsked = offer.kind === 'tool' && this.#asksForFindings(offer)
    this.#storeRecord(offer, { pin: computePin(offer), accepted: findings })
    if (!isAsked) return
    const comment = `findings accepted by ${by}, ${this.#options.now().toISOString().slice(0, 10)}`
    for (const { key } of this.#options.rules.ownEntriesOf(offer))
      await this.#options.editor.set({ key, field: 'requires_approval', value: false, comment })
  }

  /** Whether its entry requires approval only because of findings when it was written. */
  #asksForFindings(offer: Offer): boolean {
    const { rules } = this.#options
    const isKnown = rules.remainingFindingsOf(offer).length < rules.openFindingsOf(offer).length
    return isKnown && rules.approvalInEntry(offer) === true && !rules.needsApprovalByRisk(offer)
  }

  #storeRecord({ kind, name, server }: Offer, change: Partial<OfferRecord>): void {
    const { known, onRemembered, discovery } = this.#options
    const before = known.find({ kind, name, server }) ?? { pin: '', inspected: '', findings: [], accepted: [] }
    const isStored = known.put(server, { ...before, kind, name, ...change })
    onRemembered()
    if (!isStored) throw notStored()
    // The definition was not inspected while it was refused.
    discovery.enqueue(server)
  }

  #storeDefinition(offer: Offer): void {
    const { definitions, known, rules } = this.#options
    const pinned = [{ pin: computePin(offer), text: () => reviewedText(offer) }]
    definitions.save(offer.server, pinned, () => new Set([...rules.pins(), ...known.pins]))
  }

  /** The entries whose pin has to change. */
  #entriesToPin(offer: Offer, shown: string): readonly ToolEntry[] {
    const { rules } = this.#options
    const entries = rules.entriesOf(offer)
    const ownEntries = rules.ownEntriesOf(offer)
    const other = entries.filter(({ fields: { pin } }) => pin !== undefined && pin !== shown)
    // Its pin would apply to other tools too, which the person was not shown.
    const shared = other.find((entry) => !ownEntries.includes(entry))
    if (shared) throw sharedPin(offer, shared, this.path)
    if (other.length > 0 || entries.some(({ fields: { pin } }) => pin === shown)) return other
    const [own] = ownEntries
    if (own === undefined) throw noEntry(offer, this.path)
    return [own]
  }
}

const changedAgain = (offer: Offer): SallyportError =>
  new SallyportError(
    'DEFINITION_CHANGED',
    `Server ${offer.server} has changed ${offer.name} again since it was shown.`,
    {
      hint: `See the current definition: sallyport tools accept ${quoteForShell(reviewName(offer))}`,
    },
  )

const noEntry = ({ recordName }: Offer, path: string): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', `${recordName} has no entry in ${path} that could hold a pin.`, {
    hint: 'The gateway writes one when it starts. If it cannot, `sallyport tools check` says why.',
  })

const sharedPin = ({ recordName }: Offer, { key, line }: ToolEntry, path: string): SallyportError =>
  new SallyportError(
    'TOOLS_FILE_UNSAFE',
    `The pin of ${recordName} is in the entry ${JSON.stringify(key)} (${path}:${line}), which is about other tools too.`,
    {
      hint: `Remove the pin there, or write the name in full if it is this tool's: ${recordName}. Then accept it again.`,
    },
  )

const notInForce = (path: string): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', `The pin was written, but the current content of ${path} is not in force.`, {
    hint: '`sallyport tools check` says why.',
  })

/** Each server with the names of its tools. */
function groupByServer(tools: readonly Offer[]): readonly (readonly [server: string, names: readonly string[]])[] {
  const names = new Map<string, string[]>()
  for (const { server, name } of tools) {
    const own = names.get(server)
    if (own === undefined) names.set(server, [name])
    else own.push(name)
  }
  return [...names]
}

const notStored = (): SallyportError =>
  new SallyportError(
    'STATE_UNUSABLE',
    'What was accepted could not be stored, and is in force until the gateway ends.',
    {
      hint: '`sallyport doctor` says what is wrong with the state folder.',
    },
  )

/** A part of a definition that differs from the reviewed one. */
interface PartDiff {
  readonly part: string
  readonly lines: readonly DiffLine[]
}

const PARTS = ['title', 'description', 'annotations', 'inputSchema', 'outputSchema'] as const
const OTHER_PARTS = ['name', 'arguments', 'mimeType', 'text'] as const
/** Long text is wrapped, so that a diff shows the changed sentence and not the whole text. */
const PROSE_WIDTH = 100

/** The differences, part by part. Without an earlier definition everything is new. */
function diffDefinitions(before: JsonObject | undefined, after: JsonObject): readonly PartDiff[] {
  // Offers that are not tools have a display name besides the name that identifies them.
  const parts = after.inputSchema === undefined ? [...PARTS, ...OTHER_PARTS] : PARTS
  return parts
    .map((part) => ({ part, lines: diffLines(toLines(before?.[part]), toLines(after[part])) }))
    .filter(({ lines }) => lines.length > 0)
}

function toLines(value: Json | undefined): readonly string[] {
  if (value === undefined) return []
  if (typeof value === 'string') return value.split(/\r\n|[\n\r\u0085\u2028\u2029]/).flatMap(wrapLine)
  return JSON.stringify(value, undefined, 2).split('\n')
}

function wrapLine(line: string): readonly string[] {
  const pieces: string[] = []
  let from = 0
  while (line.length - from > PROSE_WIDTH) {
    const space = line.lastIndexOf(' ', from + PROSE_WIDTH)
    const to = space > from ? space + 1 : from + PROSE_WIDTH
    pieces.push(line.slice(from, to))
    from = to
  }
  return [...pieces, line.slice(from)]
}
