import { type FSWatcher, type Stats, statSync, unwatchFile, watch, watchFile } from 'node:fs'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import type { Environment } from './environment.ts'
import { CONFIG_FILES, type HomeContent, readHome } from './home-content.ts'
import { type LoadedSettings, loadSettings } from './load-settings.ts'

export type SettingsChange =
  | { readonly ok: true; readonly loaded: LoadedSettings }
  /** What was in force should stay in force. */
  | { readonly ok: false; readonly error: SallyportError }

export interface WatchOptions {
  readonly home: string
  readonly environment: Environment
  /** What is in force now: a change since it was read is told of too. */
  readonly current: Pick<HomeContent, 'configDigest'>
  /** One at a time, in order. */
  readonly onChange: (change: SettingsChange) => void
}

/** Tells of every change of the config files until it is closed. It never throws. */
export function watchSettings(options: WatchOptions): SettingsWatch {
  return new SettingsWatch(options)
}

/** An editor writes several times for one save; what keeps on writing is read at least so often. */
const SETTLE_MS = 100
const SETTLE_AT_MOST_MS = 1_000
/**
 * The folder's own events are quick, but they miss a link's target, a folder that was replaced, and network file
 * systems. So the files are looked at as well.
 */
const LOOK_EVERY_MS = 1_000

export class SettingsWatch {
  readonly #options: WatchOptions
  readonly #files: readonly string[]
  /** The config digest, or the error, that was told last. */
  #told: string
  #folder: { readonly watcher: FSWatcher; readonly inode: number } | undefined
  #timer: NodeJS.Timeout | undefined
  #firstEvent = 0
  #checks: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: WatchOptions) {
    this.#options = options
    this.#told = options.current.configDigest
    this.#files = CONFIG_FILES.map((name) => join(options.home, name))
    for (const file of this.#files) watchFile(file, { persistent: false, interval: LOOK_EVERY_MS }, this.#onLook)
    this.#watchFolder()
    this.#onEvent()
  }

  /** After this nothing is told any more and nothing of it is left. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const file of this.#files) unwatchFile(file, this.#onLook)
    this.#folder?.watcher.close()
    this.#folder = undefined
    await this.#checks
  }

  readonly #onLook = (_now: Stats, _before: Stats): void => this.#onEvent()

  #onEvent(): void {
    if (this.#closed) return
    const now = performance.now()
    if (this.#timer === undefined) this.#firstEvent = now
    clearTimeout(this.#timer)
    const delay = Math.max(0, Math.min(SETTLE_MS, this.#firstEvent + SETTLE_AT_MOST_MS - now))
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#checks = this.#checks.then(() => this.#check())
    }, delay)
    this.#timer.unref()
  }

  /** Follows the folder to its new place when it was replaced. */
  #watchFolder(): void {
    const { home } = this.#options
    try {
      const inode = statSync(home).ino
      if (this.#folder?.inode === inode) return
      this.#folder?.watcher.close()
      this.#folder = undefined
      const watcher = watch(home, { persistent: false }, () => this.#onEvent())
      this.#folder = { watcher, inode }
      watcher.on('error', () => this.#dropFolder(watcher))
    } catch {
      // No such folder, or no more watches to be had (EMFILE, ENOSPC): looking at the files is enough.
    }
  }

  #dropFolder(watcher: FSWatcher): void {
    watcher.close()
    if (this.#folder?.watcher === watcher) this.#folder = undefined
  }

  async #check(): Promise<void> {
    if (this.#closed) return
    this.#watchFolder()
    const { content, change } = await this.#read()
    if (this.#closed || change === undefined) return
    const told = change.ok || content !== undefined ? (content?.configDigest ?? '') : change.error.message
    if (told === this.#told) return
    this.#told = told
    this.#options.onChange(change)
  }

  async #read(): Promise<{ readonly content?: HomeContent; readonly change?: SettingsChange }> {
    const { home, environment } = this.#options
    let content: HomeContent | undefined
    try {
      content = await readHome(home)
      if (content.configDigest === this.#told) return {}
      if (!CONFIG_FILES.some((name) => content?.files.has(name))) throw gone(home)
      return { content, change: { ok: true, loaded: await loadSettings({ home, environment, content }) } }
    } catch (error) {
      return { ...(content && { content }), change: { ok: false, error: expected(error) } }
    }
  }
}

/** Somebody is saving it, or removed it by mistake: neither is a wish to stop every server. */
function gone(home: string): SallyportError {
  return new SallyportError(
    'CONFIG_INVALID',
    `${join(home, CONFIG_FILES[0])} is gone; the settings stay as they were.`,
    {
      hint: 'Put the file back; to run without servers, leave it empty.',
    },
  )
}

function expected(error: unknown): SallyportError {
  if (error instanceof SallyportError) return error
  return new SallyportError('INTERNAL', 'The settings could not be read again.', { cause: error })
}
