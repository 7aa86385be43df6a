import { randomBytes } from 'node:crypto'
import type { Json, SallyportEvent, ToolsFile } from '@sallyport/core'
import type { Catalog } from './catalog/catalog.ts'
import type { Settings } from './config/config.ts'
import { Approvals, type ModeWatch, openModeWatch } from './governance/governance.ts'
import { RuleBook, ToolLimits } from './pipeline/pipeline.ts'
import type { Store } from './store/store.ts'

export interface GoverningOptions {
  readonly catalog: Catalog
  readonly settings: () => Settings
  readonly store: Store
  readonly state: string
  readonly onWarning: (text: string) => void
  /** What was recorded. */
  readonly onEvent: (event: SallyportEvent) => void
}

/** What people decided, and what it makes of each tool. */
export class Governing {
  readonly modes: ModeWatch
  readonly rules: RuleBook
  readonly approvals: Approvals
  readonly limits = new ToolLimits(() => performance.now())
  readonly #options: GoverningOptions

  constructor(options: GoverningOptions) {
    this.#options = options
    const { state, store, settings, onWarning } = options
    this.modes = openModeWatch({ state, log: store.log, settings, onTrouble: onWarning })
    this.rules = new RuleBook({
      catalog: options.catalog,
      file: () => NO_FILE,
      settings: () => options.settings().governance,
      mode: () => this.modes.keeper.current,
      isTrusted: () => false,
    })
    this.modes.keeper.onChange(() => this.rules.forget())
    this.approvals = new Approvals({
      record: (event) => this.#recordSynced(event),
      timeout: () => options.settings().governance.approvalTimeout,
      kept: (args: Json) => args,
      allowAlways: () => Promise.resolve(),
      newId: () => randomBytes(6).toString('hex'),
      now: () => Date.now(),
    })
  }

  /** Approvals are on disk before they count. */
  async #recordSynced(event: SallyportEvent): Promise<void> {
    const { log } = this.#options.store
    log.append(event)
    await log.sync()
    this.#options.onEvent(event)
  }

  /** Other settings are in force. */
  reload(): void {
    this.modes.escalation.reload(this.#options.settings().governance.escalation)
    this.rules.forget()
  }

  async close(reason: string): Promise<void> {
    this.approvals.close(reason)
    await this.modes.keeper.close()
  }
}

const NO_FILE: ToolsFile = { path: 'tools.yaml', entries: [], categories: new Map(), modePolicies: new Map() }
