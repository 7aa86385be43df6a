import { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ownerOf } from '@sallyport/core'
import { createWorkspace, openResultShelf, ownerFolder, type ResultShelf } from '@sallyport/kit'
import type { Settings } from '../config/config.ts'
import type { ResultOwner } from './returning.ts'

export interface SessionShelvesOptions {
  /** The state folder. */
  readonly state: string
  readonly settings: () => Pick<Settings, 'context'>
}

interface KeptShelf {
  readonly shelf: ResultShelf
  readonly retention: Settings['context']['retention']
}

const MOST_KEPT = 1_000
const TIDY_EVERY = 60 * 60_000
const PRIVATE = 0o700

/** The whole results of each session, in its own workspace. */
export class SessionShelves {
  readonly #options: SessionShelvesOptions
  readonly #kept = new Map<string, KeptShelf>()
  #timer: NodeJS.Timeout | undefined
  #tidying: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: SessionShelvesOptions) {
    this.#options = options
  }

  /** What is too old is removed from now on, also of sessions that are over. */
  start(): void {
    const tidy = (): void => {
      this.#tidying = this.#tidying.then(() => this.#tidy())
    }
    this.#timer = setInterval(tidy, TIDY_EVERY).unref()
    tidy()
  }

  /** What is left to tidy is left to the next gateway: a command that is over must not wait for it. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#tidying
  }

  /** Throws where the folder cannot be made. */
  of(owner: ResultOwner): ResultShelf {
    const { retention } = this.#options.settings().context
    const name = ownerOf(owner)
    const known = this.#kept.get(name)
    if (known?.retention === retention) return known.shelf
    const shelf = this.#open(owner, retention)
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined && this.#kept.size >= MOST_KEPT) this.#kept.delete(oldest)
    this.#kept.set(name, { shelf, retention })
    return shelf
  }

  #open({ user, session }: ResultOwner, { age, bytes }: KeptShelf['retention']): ResultShelf {
    const root = ownerFolder(this.#folder, user, session)
    mkdirSync(root, { recursive: true, mode: PRIVATE })
    return openResultShelf({ workspace: createWorkspace(root), limits: { age, bytes } })
  }

  get #folder(): string {
    return join(this.#options.state, 'workspaces')
  }

  /** A folder that cannot be read keeps nobody from working: it is looked at again the next time. */
  async #tidy(): Promise<void> {
    const { age } = this.#options.settings().context.retention
    for (const name of await readdir(this.#folder).catch(() => [])) {
      if (this.#isClosed) return
      const workspace = createWorkspace(join(this.#folder, name))
      await openResultShelf({ workspace, limits: { age } })
        .tidy()
        .catch(() => undefined)
    }
  }
}
