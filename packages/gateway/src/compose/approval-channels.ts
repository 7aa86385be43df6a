import { randomBytes } from 'node:crypto'
import { formatFinding, type Json, quoteForShell, SallyportError, type SallyportEvent } from '@sallyport/core'
import type { Catalog, Offer } from '../catalog/catalog.ts'
import type { Settings } from '../config/config.ts'
import {
  ApprovalHook,
  Approvals,
  type Approver,
  type FieldChange,
  findAbandonedApprovals,
  type LineChange,
  openProgramApproval,
  type PendingApproval,
  type ToolsEditor,
} from '../governance/governance.ts'
import { type ActiveRules, findAlwaysApproveKey } from '../pipeline/pipeline.ts'
import type { LocalTokens } from '../sessions/sessions.ts'
import type { Store } from '../store/store.ts'

export interface ApprovalChannelsOptions {
  readonly catalog: Catalog
  readonly store: Store
  readonly tools: ToolsEditor
  readonly rules: ActiveRules
  readonly settings: () => Settings
  readonly argumentsToRecord: (args: Json) => Json | undefined
  /** The event is on disk when this resolves. */
  readonly record: (event: SallyportEvent) => Promise<void>
  /** Who answers if the gateway has no entry points; `nobody` refuses at once. Undefined: people answer over the API. */
  readonly approver: Approver | 'nobody' | undefined
  readonly onWarning: (text: string) => void
}

/** Calls that wait for a person, and the ways to answer them without a client: the web hook, a program, the API. */
export class ApprovalChannels {
  readonly approvals: Approvals
  readonly hook: ApprovalHook
  readonly #options: ApprovalChannelsOptions
  #urls: () => readonly string[] = () => []

  constructor(options: ApprovalChannelsOptions) {
    this.#options = options
    this.approvals = this.#createApprovals()
    this.hook = this.#openHook()
    const { approver: approve, onWarning } = options
    if (typeof approve === 'function') openProgramApproval({ approvals: this.approvals, approve, onWarning })
  }

  /** What answering `always` would write into tools.yaml. */
  async preview(approval: PendingApproval, by: string): Promise<LineChange> {
    return this.#options.tools.preview(this.#createAlwaysChange(approval, by))
  }

  /** Sets the HTTP URLs of the gateway, to which the web hook can send its answers. */
  setUrls(urls: () => readonly string[]): void {
    this.#urls = urls
  }

  /** Withdraws the pending approvals of a revoked token: an approval must not let a revoked caller in again. */
  watchTokens(tokens: Pick<LocalTokens, 'onChange' | 'isValid'>): void {
    const hasEnded = ({ principal: { token } }: PendingApproval): boolean =>
      token !== undefined && !tokens.isValid(token)
    tokens.onChange(() => this.approvals.withdraw('its token was revoked or has expired', hasEnded))
  }

  /** Settles and records the approvals that were pending when an earlier gateway was killed. */
  async expireLeftover(): Promise<void> {
    const { store, record } = this.#options
    for (const event of await findAbandonedApprovals(store)) {
      this.approvals.markSettled(event.approval, event.reason)
      await record(event)
    }
  }

  close(reason: string): void {
    this.approvals.close(reason)
    this.hook.close()
  }

  #createApprovals(): Approvals {
    const { settings, argumentsToRecord, record } = this.#options
    return new Approvals({
      record,
      argumentsToRecord,
      timeout: () => settings().governance.approvalTimeout,
      allowAlways: (approval, by) => this.#allowAlways(approval, by),
      nobody: () => this.#nobodyReason(),
      newId: () => randomBytes(6).toString('hex'),
      now: () => Date.now(),
    })
  }

  async #allowAlways(approval: PendingApproval, by: string): Promise<() => Promise<void>> {
    const { tools } = this.#options
    const change = this.#createAlwaysChange(approval, by)
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

  #nobodyReason(): string | undefined {
    const { approver, settings } = this.#options
    if (approver !== 'nobody' || settings().governance.approvalHook) return undefined
    return 'the program that runs this gateway gave it no `approve` function, so nobody can approve it'
  }

  #createAlwaysChange({ tool, server }: PendingApproval, by: string): FieldChange {
    const { catalog } = this.#options
    const offer = catalog.snapshot.allTools.find((known) => known.server === server && known.recordName === tool)
    const key = offer ? this.#findEntryKey(offer) : notTool()
    if (key instanceof SallyportError) throw key
    const comment = `approved for good by ${by}, ${new Date().toISOString().slice(0, 10)}`
    return { key, field: 'requires_approval', value: false, comment }
  }

  #findEntryKey(offer: Offer): string | SallyportError {
    const { policyOf, entriesOf, ownEntriesOf, modeState, remainingFindingsOf } = this.#options.rules
    const [finding] = remainingFindingsOf(offer)
    if (finding !== undefined) return suspiciousDefinitionError(offer, formatFinding(finding))
    const [entries, own] = [entriesOf(offer), ownEntriesOf(offer)]
    return findAlwaysApproveKey({ policy: policyOf(offer), entries, own, state: modeState() })
  }
}

/** An entry in tools.yaml does not accept findings that are newer than the entry. */
const suspiciousDefinitionError = ({ recordName }: Offer, finding: string): SallyportError =>
  new SallyportError(
    'ALWAYS_REFUSED',
    `"always" would not stop the approval requests. Its definition is suspicious: ${finding}.`,
    {
      hint: `Accept what was found: sallyport tools accept ${quoteForShell(recordName)}`,
    },
  )

const notTool = (): SallyportError =>
  new SallyportError(
    'ALWAYS_REFUSED',
    'Only tools can be approved permanently. This is not a tool, or its server is gone.',
  )
