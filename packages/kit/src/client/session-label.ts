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

/** The label of a session as others know it: a shared store, a service, another process. */
export interface SharedLabel {
  /** Asked before every operation. Whatever it throws means the strictest. */
  readonly read: () => Sensitivity | Promise<Sensitivity>
  /** Told of what results say, before the result is handed out. */
  readonly raise?: (dataset: string, sensitivity: Sensitivity) => unknown
}

export interface SessionLabelOptions {
  readonly shared?: SharedLabel | undefined
  /** From which sensitivity on data is private. */
  readonly privateFrom?: Sensitivity | undefined
  /** How long the shared label may take to answer; longer means the strictest. */
  readonly timeoutMs: number
}

/** What a session holds, as far as its client knows. It only ever rises. */
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

  /** Called once, in the same turn in which the session becomes private. Returns the unsubscribe. */
  onPrivate(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Asks everybody who may know. A label that is private already is asked for no more: nothing lowers it. */
  async refresh(): Promise<void> {
    if (this.#shared === undefined || this.isPrivate) return
    this.#raise(await this.#readShared(this.#shared))
  }

  /** Takes what a message says of private data. In time: it is called before anybody gets the message. */
  observe(message: unknown): void {
    const said = findLabel(message)
    if (said === undefined) return
    // A client takes anybody's word: a label only takes away.
    const claim = readLabelClaim(said)
    this.#raise(claim.sensitivity)
    for (const dataset of listDatasets(claim)) this.#queue(dataset)
    // Whoever waits for it hears of a failure; nobody may be waiting.
    this.flush().catch(() => {})
  }

  /** Resolves when all that was heard is in the shared label; throws where it could not be put there, and tries again. */
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

/** What a claim says dataset by dataset, and one more where the server holds more than it names. */
function listDatasets({ sensitivity, datasets }: LabelClaim): readonly PrivateDataset[] {
  const isCovered = datasets.some((each) => isAtLeast(each.sensitivity, sensitivity))
  return isCovered ? datasets : [...datasets, { name: 'data without a name', sensitivity }]
}
