import { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { toOwnerKey } from '@sallyport/core'
import { createWorkspace, openResultStore, ownerFolder, type ResultStore } from '@sallyport/kit'
import type { Settings } from '../config/config.ts'
import type { ResultOwner } from './result-shaper.ts'

export interface SessionResultsOptions {
  /** The state folder. */
  readonly state: string
  readonly settings: () => Pick<Settings, 'context'>
}

interface CachedStore {
  readonly store: ResultStore
  readonly retention: Settings['context']['retention']
}

const MAX_CACHED = 1_000
const CLEANUP_INTERVAL_MS = 60 * 60_000
const PRIVATE_MODE = 0o700

/** Stores the full results of each session, in its own workspace. */
export class SessionResults {
  readonly #options: SessionResultsOptions
  readonly #cache = new Map<string, CachedStore>()
  #timer: NodeJS.Timeout | undefined
  #cleaning: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: SessionResultsOptions) {
    this.#options = options
  }

  /** Starts to remove results that are too old, also of sessions that have ended. */
  start(): void {
    const cleanUp = (): void => {
      this.#cleaning = this.#cleaning.then(() => this.#cleanUp())
    }
    this.#timer = setInterval(cleanUp, CLEANUP_INTERVAL_MS).unref()
    cleanUp()
  }

  /** Stops cleaning up. The next gateway does the rest: a finished command must not wait for it. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#cleaning
  }

  /** Throws if the folder cannot be created. */
  storeFor(owner: ResultOwner): ResultStore {
    const { retention } = this.#options.settings().context
    const name = toOwnerKey(owner)
    const known = this.#cache.get(name)
    if (known?.retention === retention) return known.store
    const store = this.#open(owner, retention)
    const [oldest] = this.#cache.keys()
    if (oldest !== undefined && this.#cache.size >= MAX_CACHED) this.#cache.delete(oldest)
    this.#cache.set(name, { store, retention })
    return store
  }

  #open({ user, session }: ResultOwner, { age, bytes }: CachedStore['retention']): ResultStore {
    const root = ownerFolder(this.#folder, user, session)
    mkdirSync(root, { recursive: true, mode: PRIVATE_MODE })
    return openResultStore({ workspace: createWorkspace(root), limits: { age, bytes } })
  }

  get #folder(): string {
    return join(this.#options.state, 'workspaces')
  }

  /** A folder that cannot be read is not an error: the next cleanup tries again. */
  async #cleanUp(): Promise<void> {
    const { age } = this.#options.settings().context.retention
    for (const name of await readdir(this.#folder).catch(() => [])) {
      if (this.#isClosed) return
      const workspace = createWorkspace(join(this.#folder, name))
      await openResultStore({ workspace, limits: { age } })
        .tidy()
        .catch(() => undefined)
    }
  }
}
