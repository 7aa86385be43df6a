import { randomBytes } from 'node:crypto'
import { findingText, type Json, SallyportError, type SallyportEvent, shellWord } from '@sallyport/core'
import type { Catalog, Offer } from './catalog/catalog.ts'
import type { Settings } from './config/config.ts'
import {
  ApprovalHook,
  Approvals,
  type Approver,
  type FieldChange,
  type LineChange,
  leftApprovals,
  openProgramApproval,
  type PendingApproval,
  type ToolsKeeper,
} from './governance/governance.ts'
import { type RuleBook, standingApproval } from './pipeline/pipeline.ts'
import type { LocalTokens } from './sessions/sessions.ts'
import type { Store } from './store/store.ts'

export interface ApprovingOptions {
  readonly catalog: Catalog
  readonly store: Store
  readonly tools: ToolsKeeper
  readonly rules: RuleBook
  readonly settings: () => Settings
  readonly kept: (args: Json) => Json | undefined
  /** On disk when it resolves. */
  readonly record: (event: SallyportEvent) => Promise<void>
  /** Who answers where the gateway has no doors; `nobody` refuses at once. Undefined: people come by themselves. */
  readonly approver: Approver | 'nobody' | undefined
  readonly onWarning: (text: string) => void
}

/** Calls that wait for a person, and the ways to answer that need no client. */
export class Approving {
  readonly approvals: Approvals
  readonly hook: ApprovalHook
  readonly #options: ApprovingOptions
  #urls: () => readonly string[] = () => []

  constructor(options: ApprovingOptions) {
    this.#options = options
    this.approvals = this.#createApprovals()
    this.hook = this.#openHook()
    const { approver: approve, onWarning } = options
    if (typeof approve === 'function') openProgramApproval({ approvals: this.approvals, approve, onWarning })
  }

  /** What answering `always` would write into tools.yaml. */
  async preview(approval: PendingApproval, by: string): Promise<LineChange> {
    return this.#options.tools.preview(this.#standing(approval, by))
  }

  /** Where the gateway is reached over HTTP, for answers that come later. */
  announce(urls: () => readonly string[]): void {
    this.#urls = urls
  }

  /** Whoever approves a call must not bring back a caller that somebody has shut out. */
  follow(tokens: Pick<LocalTokens, 'onChange' | 'isValid'>): void {
    const isOver = ({ principal: { token } }: PendingApproval): boolean => token !== undefined && !tokens.isValid(token)
    tokens.onChange(() => this.approvals.withdraw('its token was revoked or ended', isOver))
  }

  /** What waited when an earlier gateway was killed is over, and known to be. */
  async expireLeft(): Promise<void> {
    const { store, record } = this.#options
    for (const event of await leftApprovals(store)) {
      this.approvals.bury(event.approval, event.reason)
      await record(event)
    }
  }

  close(reason: string): void {
    this.approvals.close(reason)
    this.hook.close()
  }

  #createApprovals(): Approvals {
    const { settings, kept, record } = this.#options
    return new Approvals({
      record,
      kept,
      timeout: () => settings().governance.approvalTimeout,
      allowAlways: (approval, by) => this.#allowAlways(approval, by),
      nobody: () => this.#nobody(),
      newId: () => randomBytes(6).toString('hex'),
      now: () => Date.now(),
    })
  }

  async #allowAlways(approval: PendingApproval, by: string): Promise<() => Promise<void>> {
    const { tools } = this.#options
    const change = this.#standing(approval, by)
    await tools.preview(change)
    return () => tools.set(change)
  }

  #openHook(): ApprovalHook {
    const { settings, onWarning } = this.#options
    return new ApprovalHook({
      approvals: this.approvals,
      settings: () => settings().governance.approvalHook,
      answerUrl: (id) => this.#answerUrl(id),
      now: () => Date.now(),
      onWarning,
    })
  }

  #answerUrl(id: string): string | undefined {
    const [url] = this.#urls()
    return url && `${url}/api/approvals/${id}/answer`
  }

  #nobody(): string | undefined {
    const { approver, settings } = this.#options
    if (approver !== 'nobody' || settings().governance.approvalHook) return undefined
    return 'the program that runs this gateway gave it no `approve`, so that nobody can'
  }

  #standing({ tool, server }: PendingApproval, by: string): FieldChange {
    const { catalog } = this.#options
    const offer = catalog.snapshot.tools.find((known) => known.server === server && known.recordName === tool)
    const key = offer ? this.#keyOf(offer) : notTool()
    if (key instanceof SallyportError) throw key
    const comment = `approved for good by ${by}, ${new Date().toISOString().slice(0, 10)}`
    return { key, field: 'requires_approval', value: false, comment }
  }

  #keyOf(offer: Offer): string | SallyportError {
    const { policyOf, entriesOf, ownEntriesOf, modeState, lastingDoubtsOf } = this.#options.rules
    const [doubt] = lastingDoubtsOf(offer)
    if (doubt !== undefined) return doubted(offer, findingText(doubt))
    const [entries, own] = [entriesOf(offer), ownEntriesOf(offer)]
    return standingApproval({ policy: policyOf(offer), entries, own, state: modeState() })
  }
}

/** An entry is no answer to what was found after it was written, or where there is none. */
const doubted = ({ recordName }: Offer, finding: string): SallyportError =>
  new SallyportError('ALWAYS_REFUSED', `"always" would not end the asking. Its definition is suspicious: ${finding}.`, {
    hint: `Accept what was found: sallyport tools accept ${shellWord(recordName)}`,
  })

const notTool = (): SallyportError =>
  new SallyportError('ALWAYS_REFUSED', 'Only tools can be approved for good; this is none, or its server is gone.')
