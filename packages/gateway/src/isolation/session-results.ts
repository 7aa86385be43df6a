import { mkdirSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf, SallyportError, toOwnerKey } from '@sallyport/core'
import { createWorkspace, openResultStore, ownerFolder, type ResultStore, sweepResults } from '@sallyport/kit'
import type { SessionKeys } from '@sallyport/kit/keys'
import type { Settings } from '../config/config.ts'
import type { EndedSessions } from '../sessions/sessions.ts'
import type { ResultOwner } from './result-shaper.ts'

export interface SessionResultsOptions {
  /** The state folder. */
  readonly state: string
  readonly settings: () => Pick<Settings, 'context'>
  /** With which results are encrypted. */
  readonly sessionKeys: SessionKeys
  readonly ended: EndedSessions
  /** The data of a session was removed by a cleanup. */
  readonly onRemoved?: (owner: ResultOwner, removed: RemovedData) => void
  readonly onWarning: (text: string) => void
  readonly now?: () => number
}

/** What was removed with the data of a session. */
export interface RemovedData {
  readonly files: number
  /** On the disk. */
  readonly bytes: number
  /** Whether it had a key, which no longer exists. */
  readonly key: boolean
}

interface CachedStore {
  readonly store: ResultStore
  readonly retention: Settings['context']['retention']
}

const MAX_CACHED = 1_000
const CLEANUP_INTERVAL_MS = 60 * 60_000
const PRIVATE_MODE = 0o700

/** Stores the full results of each session, encrypted, in its own workspace. */
export class SessionResults {
  readonly #options: SessionResultsOptions
  readonly #now: () => number
  readonly #cache = new Map<string, CachedStore>()
  /** By session: results that are being written. */
  readonly #saving = new Map<string, Set<Promise<unknown>>>()
  #timer: NodeJS.Timeout | undefined
  #cleaning: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: SessionResultsOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  /** Starts to remove results that are too old, and the data of sessions that have ended. */
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
    if (this.#options.ended.isClosed(owner)) return CLOSED_STORE
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

  /**
   * Removes what a session has stored, and lets it store nothing more. The key is destroyed first, so nothing can be read
   * after that, wherever there are copies. Whatever this does not finish, the next start does.
   */
  async removeData(owner: ResultOwner): Promise<RemovedData> {
    const { ended, sessionKeys } = this.#options
    const root = this.#rootOf(owner)
    const name = toOwnerKey(owner)
    ended.close(owner)
    this.#cache.delete(name)
    const first = await attempt(sessionKeys.destroy(basename(root)))
    while (this.#saving.has(name)) await Promise.allSettled(this.#saving.get(name) ?? [])
    // A result that was being written may have needed a new key.
    const second = await attempt(sessionKeys.destroy(basename(root)))
    const stored = await measure(root)
    await rm(root, { recursive: true, force: true })
    if ('error' in second) throw second.error
    await ended.forgetRemoval(owner)
    return { ...stored, key: second.value || ('value' in first && first.value) }
  }

  /** When the data of a session that ended at this time is removed. */
  removalTime(ended: number): number {
    return ended + this.#options.settings().context.retention.age
  }

  #open(owner: ResultOwner, { age, bytes }: CachedStore['retention']): ResultStore {
    const root = this.#rootOf(owner)
    mkdirSync(root, { recursive: true, mode: PRIVATE_MODE })
    const sessionKey = this.#options.sessionKeys.of(basename(root))
    const store = openResultStore({ workspace: createWorkspace(root, { sessionKey }), limits: { age, bytes } })
    return this.#untilClosed(owner, store)
  }

  /** The data of the session may be removed at any time, also while a result is read or written. */
  #untilClosed(owner: ResultOwner, store: ResultStore): ResultStore {
    const isClosed = (): boolean => this.#options.ended.isClosed(owner)
    return {
      save: (content, about) => {
        if (isClosed()) return CLOSED_STORE.save(content, about)
        return this.#trackSaving(toOwnerKey(owner), store.save(content, about))
      },
      read: async (handle) => {
        const found = isClosed() ? undefined : await store.read(handle)
        return isClosed() ? undefined : found
      },
      list: async () => (isClosed() ? [] : store.list()),
      tidy: () => store.tidy(),
    }
  }

  #trackSaving<Value>(name: string, saving: Promise<Value>): Promise<Value> {
    const all = this.#saving.get(name) ?? new Set()
    this.#saving.set(name, all.add(saving))
    const done = (): void => {
      all.delete(saving)
      if (all.size === 0) this.#saving.delete(name)
    }
    saving.then(done, done)
    return saving
  }

  #rootOf({ user, session }: ResultOwner): string {
    return ownerFolder(this.#folder, user, session)
  }

  get #folder(): string {
    return join(this.#options.state, 'workspaces')
  }

  /** A folder that cannot be read is not an error: the next cleanup tries again. */
  async #cleanUp(): Promise<void> {
    const { ended, sessionKeys, settings, onRemoved, onWarning } = this.#options
    for (const { owner, ended: time, isPurged } of ended.removals) {
      if (this.#isClosed) return
      if (!isPurged && this.removalTime(time) > this.#now()) continue
      try {
        onRemoved?.(owner, await this.removeData(owner))
      } catch (error) {
        onWarning(`The data of session ${owner.session} of ${owner.user} could not be removed yet: ${messageOf(error)}`)
      }
    }
    const { age } = settings().context.retention
    await sweepResults({ workspaces: this.#folder, sessionKeys, age, isStopped: () => this.#isClosed })
  }
}

/** Of a session whose data was removed. */
const CLOSED_STORE: ResultStore = {
  save: () => Promise.reject(new SallyportError('STATE_UNUSABLE', 'The session has ended, and stores no results.')),
  read: async () => undefined,
  list: async () => [],
  tidy: async () => undefined,
}

/** The files are removed also if the folder for keys cannot be used. */
async function attempt<Value>(work: Promise<Value>): Promise<{ readonly value: Value } | { readonly error: unknown }> {
  try {
    return { value: await work }
  } catch (error) {
    return { error }
  }
}

async function measure(folder: string): Promise<{ readonly files: number; readonly bytes: number }> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => !entry.isDirectory())
  const sizes = files.map(
    async ({ parentPath, name }) => (await stat(join(parentPath, name)).catch(() => undefined))?.size,
  )
  return { files: files.length, bytes: (await Promise.all(sizes)).reduce((sum: number, size) => sum + (size ?? 0), 0) }
}
