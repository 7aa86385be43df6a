import { randomBytes } from 'node:crypto'
import type { Json, SallyportEvent, ToolsFile } from '@sallyport/core'
import type { Catalog } from './catalog/catalog.ts'
import type { Settings } from './config/config.ts'
import { Approvals } from './governance/governance.ts'
import { RuleBook, ToolLimits } from './pipeline/pipeline.ts'
import type { Store } from './store/store.ts'

export interface GoverningOptions {
  readonly catalog: Catalog
  readonly settings: () => Settings
  readonly store: Store
  /** What was recorded. */
  readonly onEvent: (event: SallyportEvent) => void
}

/** What people decided, and what it makes of each tool. */
export class Governing {
  readonly rules: RuleBook
  readonly approvals: Approvals
  readonly limits = new ToolLimits(() => performance.now())
  readonly #options: GoverningOptions

  constructor(options: GoverningOptions) {
    this.#options = options
    this.rules = new RuleBook({
      catalog: options.catalog,
      file: () => NO_FILE,
      settings: () => options.settings().governance,
      mode: () => ({ mode: 'NORMAL' }),
      isTrusted: () => false,
    })
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

  close(reason: string): void {
    this.approvals.close(reason)
  }
}

const NO_FILE: ToolsFile = { path: 'tools.yaml', entries: [], categories: new Map(), modePolicies: new Map() }
