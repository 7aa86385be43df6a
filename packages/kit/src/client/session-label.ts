import {
  HIGHEST_SENSITIVITY,
  higherSensitivity,
  isAtLeast,
  isJsonObject,
  isPrivate,
  isSensitivity,
  LOWEST_SENSITIVITY,
  type Sensitivity,
} from '@sallyport/core'
import {
  type LabelClaim,
  PRIVATE_DATA_META,
  type PrivateDataset,
  readLabelClaim,
} from '../private-data/private-data.ts'

/** The label of a session outside this client: in a shared store, a service or another process. */
export interface SharedLabel {
  /** Called before every operation. If it throws, the strictest label is assumed. */
  readonly read: () => Sensitivity | Promise<Sensitivity>
  /** Called with the label of a result before the result is returned. */
  readonly raise?: (dataset: string, sensitivity: Sensitivity) => unknown
}

export interface SessionLabelOptions {
  readonly shared?: SharedLabel | undefined
  /** Data of this sensitivity or above is private. */
  readonly privateFrom?: Sensitivity | undefined
  /** How long the shared label may take to answer. After that the strictest label is assumed. */
  readonly timeoutMs: number
}

/** The label of a session, as far as its client knows. It is never lowered. */
export class SessionLabel {
  readonly #shared: SharedLabel | undefined
  readonly #privateFrom: Sensitivity | undefined
  readonly #timeoutMs: number
  readonly #watchers = new Set<() => void>()
  readonly #unstored = new Map<string, PrivateDataset>()
  /** Servers repeat their label with every result. */
  readonly #stored = new Set<string>()
  #sensitivity: Sensitivity = LOWEST_SENSITIVITY
  #storing: Promise<void> = Promise.resolve()

  constructor({ shared, privateFrom, timeoutMs }: SessionLabelOptions) {
    this.#shared = shared
    this.#privateFrom = privateFrom
    this.#timeoutMs = timeoutMs
  }

  get sensitivity(): Sensitivity {
    return this.#sensitivity
  }

  get isPrivate(): boolean {
    return isPrivate(this.#sensitivity, this.#privateFrom)
  }

  /** The listener is called once, in the same tick in which the session becomes private. Returns the function to unsubscribe. */
  onPrivate(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Reads the shared label, unless the session is private already: nothing lowers a label. */
  async refresh(): Promise<void> {
    if (this.#shared === undefined || this.isPrivate) return
    this.#raise(await this.#readShared(this.#shared))
  }

  /** Raises the label by what a message says about private data. It is called before anybody receives the message. */
  observe(message: unknown): void {
    const metaValue = findLabel(message)
    if (metaValue === undefined) return
    // A client trusts any server's label: a label can only restrict.
    const claim = readLabelClaim(metaValue)
    this.#raise(claim.sensitivity)
    for (const dataset of listDatasets(claim)) this.#queue(dataset)
    // A caller that waits for it gets the failure; there may be no such caller.
    this.flush().catch(() => {})
  }

  /** Resolves when the shared label contains everything received so far. Throws if it could not be stored; the next call retries. */
  flush(): Promise<void> {
    if (this.#unstored.size === 0) return this.#storing
    this.#storing = this.#storing.catch(() => {}).then(() => this.#store())
    return this.#storing
  }

  #queue(dataset: PrivateDataset): void {
    const key = `${dataset.sensitivity} ${dataset.name}`
    if (this.#shared?.raise === undefined || this.#stored.has(key)) return
    this.#unstored.set(key, dataset)
  }

  async #store(): Promise<void> {
    for (const [key, { name, sensitivity }] of this.#unstored) {
      await this.#shared?.raise?.(name, sensitivity)
      this.#unstored.delete(key)
      this.#stored.add(key)
    }
  }

  #raise(sensitivity: Sensitivity): void {
    const wasPrivate = this.isPrivate
    this.#sensitivity = higherSensitivity(this.#sensitivity, sensitivity)
    if (wasPrivate || !this.isPrivate) return
    for (const watcher of this.#watchers) watcher()
  }

  async #readShared({ read }: SharedLabel): Promise<Sensitivity> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<Sensitivity>((resolve) => {
      timer = setTimeout(() => resolve(HIGHEST_SENSITIVITY), this.#timeoutMs)
    })
    try {
      const answer = await Promise.race([late, (async () => read())()])
      return isSensitivity(answer) ? answer : HIGHEST_SENSITIVITY
    } catch {
      return HIGHEST_SENSITIVITY
    } finally {
      clearTimeout(timer)
    }
  }
}

function findLabel(message: unknown): unknown {
  if (!isJsonObject(message)) return undefined
  const { result, params, error } = message
  const data = isJsonObject(error) ? error.data : undefined
  for (const part of [result, params, data]) {
    const meta = isJsonObject(part) ? part._meta : undefined
    if (isJsonObject(meta) && meta[PRIVATE_DATA_META] !== undefined) return meta[PRIVATE_DATA_META]
  }
  return undefined
}

/** The datasets of a claim, plus an unnamed one if its sensitivity is higher than that of all named datasets. */
function listDatasets({ sensitivity, datasets }: LabelClaim): readonly PrivateDataset[] {
  const isCovered = datasets.some((each) => isAtLeast(each.sensitivity, sensitivity))
  return isCovered ? datasets : [...datasets, { name: 'data without a name', sensitivity }]
}
