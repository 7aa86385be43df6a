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
import { type OfferRegistry, pinOf, reviewedText, type ToolsEditor } from '../../governance/governance.ts'
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
  /** What is remembered of offers changed. */
  readonly onRemembered: () => void
  /** The definition that a pin is about, where it was kept. */
  readonly loadPinned: (pin: string) => JsonObject | undefined
  readonly findPresetProblem: ProblemSources['findPresetProblem']
  /** What is wrong with the entry of a server that has these tools, if anything. */
  readonly findServerProblem: ToolDiscoveryOptions['findServerProblem']
  /** Servers that are not started until their entry is corrected, each with the reason. */
  readonly heldBack: () => readonly string[]
  /** Patterns of the operator's that fit no tool. */
  readonly findUnmatched: () => readonly UnmatchedPattern[]
  /** It is on disk when this resolves. */
  readonly record: (event: SallyportEvent) => Promise<void>
  readonly now: () => Date
}

/** The definition as it is, beside the one that was reviewed. */
export interface DefinitionReview {
  /** The digest of the definition as it is: what somebody accepts who has seen it. */
  readonly now: string
  readonly pin: string | undefined
  readonly reviewed: JsonObject | undefined
  readonly changes: readonly PartDiff[]
}

export interface Acceptance {
  /** The digest of what was shown to whoever accepts it. */
  readonly shown: string
  readonly by: string
  readonly via: string
}

/** What people look at and decide about what servers offer. */
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

  /** Resolves when what was found has its entries, as far as it can. */
  flushDiscovery(): Promise<void> {
    return this.#options.discovery.flush()
  }

  /** Why tools that were found have no entry. */
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
      pin: resolvePinState(offer, policy),
      findings: rules.findingsOf(offer).map(formatFinding),
      doubts: rules.doubtsOf(offer).map(formatFinding),
    }
  }

  /** Everything but tools that servers put before a model. */
  otherOffers(): readonly Offer[] {
    const { prompts, resources, templates, instructions } = this.#options.catalog.snapshot
    return [...prompts, ...resources, ...templates, ...instructions].filter(({ isMcp }) => isMcp)
  }

  definitionOf(offer: Offer): DefinitionReview {
    const now = pinOf(offer)
    const pin = this.#pinOf(offer)
    const reviewed = pin === undefined ? undefined : this.#options.loadPinned(pin)
    const changes =
      pin === undefined || pin === now ? [] : diffDefinitions(reviewed, JSON.parse(reviewedText(offer)) as JsonObject)
    return { now, pin, reviewed, changes }
  }

  /** Where there are several, one that the definition is not. */
  #pinOf(offer: Offer): string | undefined {
    const policy = this.#options.rules.policyOf(offer)
    return (findBrokenPin(offer, policy) ?? policy.pin[0])?.value
  }

  /** Everything about tools and their file that a person should look at. */
  problems(): readonly ToolProblem[] {
    const { catalog, editor, findPresetProblem, rules } = this.#options
    const tools = catalog.snapshot.tools.filter(({ isMcp }) => isMcp)
    const others = this.otherOffers()
    const idle = findUnmatchedEntries({ catalog, entries: editor.file.entries, entriesOf: rules.entriesOf })
    const unmatched = this.#options.findUnmatched()
    const reviewOf = (offer: Offer): ReviewedTool => this.reviewOf(offer)
    const flaws = groupByServer(tools).flatMap(
      ([server, names]) => this.#options.findServerProblem(server, names) ?? [],
    )
    const serverFlaws = [...this.#options.heldBack(), ...flaws]
    const problems = {
      serverProblems: serverFlaws,
      unmatchedPatterns: unmatched,
      unmatchedEntries: idle,
      findPresetProblem: findPresetProblem,
      problemsOf: rules.problemsOf,
    }
    return collectToolProblems({ editor, tools, others, reviewOf, ...problems })
  }

  /** Makes the definition that somebody has seen the reviewed one. What changed meanwhile stays refused. */
  async accept(offer: Offer, acceptance: Acceptance): Promise<void> {
    const { rules } = this.#options
    const { shown } = acceptance
    if (shown !== pinOf(offer)) throw changedAgain(offer)
    const findings = rules.findingsOf(offer).map(formatFinding)
    const hasDoubts = rules.doubtsOf(offer).length > 0
    if (this.#isPinnedInFile(offer)) await this.#acceptInFile(offer, acceptance)
    else await this.#acceptInState(offer, acceptance)
    if (hasDoubts) await this.#acceptFindings(offer, findings, acceptance)
  }

  #isPinnedInFile(offer: Offer): boolean {
    const { rules } = this.#options
    if (offer.kind !== 'tool') return false
    return rules.hasOwnEntry(offer) || rules.entriesOf(offer).some(({ fields: { pin } }) => pin !== undefined)
  }

  async #acceptInFile(offer: Offer, { shown, by, via }: Acceptance): Promise<void> {
    const { editor, rules } = this.#options
    const places = this.#entriesToPin(offer, shown)
    if (places.length === 0) return
    const from = this.#pinOf(offer) ?? ''
    this.#storeDefinition(offer)
    const event = { type: 'PIN_CHANGED', tool_name: offer.recordName, by, via } as const
    // Recorded before it is kept: a crash must not leave an accepted definition of which the log knows nothing.
    await this.#options.record({ ...event, from, to: shown })
    try {
      const comment = `accepted by ${by}, ${this.#options.now().toISOString().slice(0, 10)}`
      for (const { key } of places) await editor.set({ key, field: 'pin', value: shown, comment })
    } catch (error) {
      await this.#options.record({ ...event, from: shown, to: from })
      throw error
    }
    // Until an entry named it, it may have had to make room for another.
    this.#storeDefinition(offer)
    if (resolvePinState(offer, rules.policyOf(offer)) !== 'pinned') throw notInForce(this.path)
  }

  /** For what has no entry: its pin is in the state. */
  async #acceptInState(offer: Offer, { shown, by, via }: Acceptance): Promise<void> {
    const from = this.#pinOf(offer) ?? ''
    if (from === shown) return
    this.#storeDefinition(offer)
    await this.#options.record({ type: 'PIN_CHANGED', tool_name: reviewName(offer), from, to: shown, by, via })
    this.#storeRecord(offer, { pin: shown })
  }

  async #acceptFindings(offer: Offer, findings: readonly string[], { by, via }: Acceptance): Promise<void> {
    await this.#options.record({ type: 'FINDINGS_ACCEPTED', tool_name: reviewName(offer), findings, by, via })
    const isAsked = offer.kind === 'tool' && this.#asksForFindings(offer)
    this.#storeRecord(offer, { pin: pinOf(offer), accepted: findings })
    if (!isAsked) return
    const comment = `findings accepted by ${by}, ${this.#options.now().toISOString().slice(0, 10)}`
    for (const { key } of this.#options.rules.ownEntriesOf(offer))
      await this.#options.editor.set({ key, field: 'requires_approval', value: false, comment })
  }

  /** Whether its entry asks because of what was found when it was written, and for no other reason. */
  #asksForFindings(offer: Offer): boolean {
    const { rules } = this.#options
    const isKnown = rules.remainingDoubtsOf(offer).length < rules.doubtsOf(offer).length
    return isKnown && rules.approvalInEntry(offer) === true && !rules.needsApprovalByRisk(offer)
  }

  #storeRecord({ kind, name, server }: Offer, change: Partial<OfferRecord>): void {
    const { known, onRemembered, discovery } = this.#options
    const before = known.find({ kind, name, server }) ?? { pin: '', inspected: '', findings: [], accepted: [] }
    const isStored = known.put(server, { ...before, kind, name, ...change })
    onRemembered()
    if (!isStored) throw notStored()
    // What was not inspected while it was refused is now.
    discovery.enqueue(server)
  }

  #storeDefinition(offer: Offer): void {
    const { definitions, known, rules } = this.#options
    const kept = [{ pin: pinOf(offer), text: () => reviewedText(offer) }]
    definitions.save(offer.server, kept, () => new Set([...rules.pins(), ...known.pins]))
  }

  /** The entries in which the pin has to be another. */
  #entriesToPin(offer: Offer, shown: string): readonly ToolEntry[] {
    const { rules } = this.#options
    const entries = rules.entriesOf(offer)
    const ownEntries = rules.ownEntriesOf(offer)
    const other = entries.filter(({ fields: { pin } }) => pin !== undefined && pin !== shown)
    // Its pin would be that of other tools as well, which nobody was shown.
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
      hint: `Look at it as it is now: sallyport tools accept ${quoteForShell(reviewName(offer))}`,
    },
  )

const noEntry = ({ recordName }: Offer, path: string): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', `${recordName} has no entry in ${path} that could hold a pin.`, {
    hint: 'The gateway writes one when it starts. `sallyport tools check` says why where it cannot.',
  })

const sharedPin = ({ recordName }: Offer, { key, line }: ToolEntry, path: string): SallyportError =>
  new SallyportError(
    'TOOLS_FILE_UNSAFE',
    `The pin of ${recordName} stands in the entry ${JSON.stringify(key)} (${path}:${line}), which is about other tools too.`,
    {
      hint: `Remove the pin there, or write the name in full if it is this tool's: ${recordName}. Then accept it again.`,
    },
  )

const notInForce = (path: string): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', `The pin was written, but ${path} as it stands there is not in force.`, {
    hint: '`sallyport tools check` says why.',
  })

/** The servers with the names of their tools. */
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

/** A part of a definition that is not as it was reviewed. */
interface PartDiff {
  readonly part: string
  readonly lines: readonly DiffLine[]
}

const PARTS = ['title', 'description', 'annotations', 'inputSchema', 'outputSchema'] as const
const OTHER_PARTS = ['name', 'arguments', 'mimeType', 'text'] as const
/** Prose is broken, so that a changed sentence is seen and not a changed page. */
const PROSE_WIDTH = 100

/** What differs, part by part. Without an earlier definition everything is new. */
function diffDefinitions(before: JsonObject | undefined, after: JsonObject): readonly PartDiff[] {
  // What is not a tool has a name of its own beside the one that it is found by.
  const parts = after.inputSchema === undefined ? [...PARTS, ...OTHER_PARTS] : PARTS
  return parts
    .map((part) => ({ part, lines: diffLines(linesOf(before?.[part]), linesOf(after[part])) }))
    .filter(({ lines }) => lines.length > 0)
}

function linesOf(value: Json | undefined): readonly string[] {
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
