import type { SallyportError } from '@sallyport/core'
import type { LoadedSettings } from '../load-settings.ts'
import type { Home } from './home.ts'
import { requireTrust } from './trust.ts'
import type { SettingsChange } from './watch-settings.ts'

export interface ReloadOptions {
  readonly home: Home
  readonly state: string
  readonly gateway: {
    reload(loaded: LoadedSettings): void
    rejectSettings(reason: string): void
  }
  /** How often it is asked again whether a change is trusted by now. */
  readonly askEvery?: number
}

const RETRY_INTERVAL_MS = 1_000

/** Brings changed settings into force. Those that nobody vouches for yet wait until somebody does, or until the next change. */
export class SettingsReload {
  readonly #options: ReloadOptions
  #latest: SettingsChange | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: ReloadOptions) {
    this.#options = options
  }

  async apply(change: SettingsChange): Promise<void> {
    this.close()
    this.#latest = change
    const { gateway } = this.#options
    if (!change.ok) return gateway.rejectSettings(change.error.text)
    const refused = await this.#tryApply(change)
    if (refused !== undefined) gateway.rejectSettings(refused)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#latest = undefined
  }

  /** Says why it cannot be brought into force now; nothing when it is, or when it is no longer the latest. */
  async #tryApply(change: SettingsChange & { readonly ok: true }): Promise<string | undefined> {
    const { home, state, gateway, askEvery = RETRY_INTERVAL_MS } = this.#options
    const question = { home, content: change.loaded, state }
    const refused = await requireTrust(question).catch((error: SallyportError) => error.text)
    if (this.#latest !== change) return undefined
    if (refused === undefined) gateway.reload(change.loaded)
    else this.#timer = setTimeout(() => void this.#tryApply(change), askEvery).unref()
    return refused ?? undefined
  }
}
