import { basename, dirname, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { FileWatch } from '../../disk/disk.ts'
import { type LoadedSettings, loadSettings } from '../load-settings.ts'
import type { Environment } from '../reading/environment.ts'
import type { Profiles, Settings } from '../settings.ts'
import { CONFIG_FILES, type HomeContent, readHome, SETTINGS_FILES } from './home-content.ts'

export type SettingsChange =
  | { readonly ok: true; readonly loaded: LoadedSettings }
  /** The settings in force should stay in force. */
  | { readonly ok: false; readonly error: SallyportError }

export interface WatchOptions {
  readonly home: string
  readonly environment: Environment
  /** The settings in force: a change since they were read is reported too. */
  readonly current: Pick<HomeContent, 'configDigest' | 'included'> & { readonly settings?: Pick<Settings, 'profiles'> }
  /** The profiles in force. If they change while the files are being read, the result may be outdated. */
  readonly profilesInForce?: () => Profiles
  /** Called for one change at a time, in order. */
  readonly onChange: (change: SettingsChange) => void
}

interface SettingsRead {
  readonly content?: HomeContent
  readonly change?: SettingsChange
}

/** Reports every change of the config files until it is closed. It never throws. */
export function watchSettings(options: WatchOptions): SettingsWatch {
  return new SettingsWatch(options)
}

export class SettingsWatch {
  readonly #options: WatchOptions
  readonly #watch: FileWatch
  /** Watches of included files, by path. */
  readonly #included = new Map<string, FileWatch>()
  /** The config digest, or the error, that was reported last. */
  #lastReported: string
  /** Whether the settings in force came with a profiles.json. */
  #hadProfiles: boolean
  #closed = false

  constructor(options: WatchOptions) {
    this.#options = options
    this.#lastReported = options.current.configDigest
    this.#hadProfiles = (options.current.settings?.profiles.size ?? 0) > 0
    this.#watch = new FileWatch({ folder: options.home, names: SETTINGS_FILES, onEvent: () => this.#check() })
    this.#watchIncluded(options.current.included)
  }

  /** After this, no change is reported and all watches are released. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([this.#watch, ...this.#included.values()].map((watch) => watch.close()))
  }

  async #check(): Promise<void> {
    const { content, change } = await this.#readNewest()
    if (!this.#closed) this.#watchIncluded(content?.included)
    if (this.#closed || change === undefined) return
    const reported = change.ok || content !== undefined ? (content?.configDigest ?? '') : change.error.message
    if (reported === this.#lastReported) return
    this.#lastReported = reported
    if (change.ok) this.#hadProfiles = content?.files.has('profiles.json') ?? false
    this.#options.onChange(change)
  }

  /** A file that is no longer included stays watched. This is harmless: only files that the config names are read. */
  #watchIncluded(files: HomeContent['included'] = []): void {
    for (const { path } of files) {
      if (this.#included.has(path)) continue
      const onEvent = (): Promise<void> => this.#check()
      this.#included.set(path, new FileWatch({ folder: dirname(path), names: [basename(path)], onEvent }))
    }
  }

  /** Reads again if newer profiles were applied in the meantime, so that they are not undone even for a moment. */
  async #readNewest(): Promise<SettingsRead> {
    const { profilesInForce } = this.#options
    for (;;) {
      const before = profilesInForce?.()
      const reading = await this.#read()
      if (this.#closed || profilesInForce?.() === before) return reading
    }
  }

  async #read(): Promise<SettingsRead> {
    const { home, environment } = this.#options
    let content: HomeContent | undefined
    try {
      content = await readHome(home)
      if (content.configDigest === this.#lastReported) return {}
      if (!CONFIG_FILES.some((name) => content?.files.has(name)))
        throw missingFileError(join(home, CONFIG_FILES[0]), 'to run without servers, leave it empty')
      if (this.#hadProfiles && !content.files.has('profiles.json'))
        throw missingFileError(join(home, 'profiles.json'), 'to give every agent all tools, write {} into it')
      return { content, change: { ok: true, loaded: await loadSettings({ home, environment, content }) } }
    } catch (error) {
      return { ...(content && { content }), change: { ok: false, error: toExpectedError(error) } }
    }
  }
}

/** The file is being saved, or was removed by mistake. Neither means that all servers should stop or all tools be allowed. */
function missingFileError(file: string, instead: string): SallyportError {
  return new SallyportError('CONFIG_INVALID', `${file} is missing; the settings stay as they were.`, {
    hint: `Put the file back; ${instead}.`,
  })
}

function toExpectedError(error: unknown): SallyportError {
  if (error instanceof SallyportError) return error
  return new SallyportError('INTERNAL', 'The settings could not be read again.', { cause: error })
}
