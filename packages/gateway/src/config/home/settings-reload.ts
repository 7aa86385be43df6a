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
  /** How often the trust of a pending change is rechecked, in milliseconds. */
  readonly askEvery?: number
}

const RETRY_INTERVAL_MS = 1_000

/** Applies changed settings. A change that is not trusted yet waits until it is trusted or replaced by the next change. */
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
    const refusal = await this.#tryApply(change)
    if (refusal !== undefined) gateway.rejectSettings(refusal)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#latest = undefined
  }

  /** Returns why the change cannot be applied now; `undefined` if it was applied or is no longer the latest. */
  async #tryApply(change: SettingsChange & { readonly ok: true }): Promise<string | undefined> {
    const { home, state, gateway, askEvery = RETRY_INTERVAL_MS } = this.#options
    const query = { home, content: change.loaded, state }
    const refusal = await requireTrust(query).catch((error: SallyportError) => error.text)
    if (this.#latest !== change) return undefined
    if (refusal === undefined) gateway.reload(change.loaded)
    else this.#timer = setTimeout(() => void this.#tryApply(change), askEvery).unref()
    return refusal ?? undefined
  }
}
