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

const META_KEY = 'sallyport/private_data'

/** What a session holds, as far as its client knows. It only ever rises. */
export class SessionLabel {
  readonly #shared: SharedLabel | undefined
  readonly #privateFrom: Sensitivity | undefined
  readonly #timeoutMs: number
  readonly #watchers = new Set<() => void>()
  readonly #unstored = new Map<string, Dataset>()
  /** Servers repeat their label with every result. */
  readonly #stored = new Set<string>()
  #known: Sensitivity = LOWEST_SENSITIVITY
  #storing: Promise<void> = Promise.resolve()

  constructor({ shared, privateFrom, timeoutMs }: SessionLabelOptions) {
    this.#shared = shared
    this.#privateFrom = privateFrom
    this.#timeoutMs = timeoutMs
  }

  get sensitivity(): Sensitivity {
    return this.#known
  }

  get isPrivate(): boolean {
    return isPrivate(this.#known, this.#privateFrom)
  }

  /** Called once, in the same turn in which the session becomes private. Returns the unsubscribe. */
  onPrivate(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Asks everybody who may know. A label that is private already is asked for no more: nothing lowers it. */
  async ask(): Promise<void> {
    if (this.#shared === undefined || this.isPrivate) return
    this.#rise(await this.#readShared(this.#shared))
  }

  /** Takes what a message says of private data. In time: it is called before anybody gets the message. */
  hear(message: unknown): void {
    const said = labelIn(message)
    if (said === undefined) return
    const datasets = readDatasets(said)
    for (const { sensitivity } of datasets) this.#rise(sensitivity)
    for (const dataset of datasets) this.#remember(dataset)
    // Whoever waits for it hears of a failure; nobody may be waiting.
    this.settle().catch(() => {})
  }

  /** Resolves when all that was heard is in the shared label; throws where it could not be put there, and tries again. */
  settle(): Promise<void> {
    if (this.#unstored.size === 0) return this.#storing
    this.#storing = this.#storing.catch(() => {}).then(() => this.#store())
    return this.#storing
  }

  #remember(dataset: Dataset): void {
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

  #rise(sensitivity: Sensitivity): void {
    const wasPrivate = this.isPrivate
    this.#known = higherSensitivity(this.#known, sensitivity)
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

interface Dataset {
  readonly name: string
  readonly sensitivity: Sensitivity
}

function labelIn(message: unknown): unknown {
  if (!isJsonObject(message)) return undefined
  const { result, params, error } = message
  const data = isJsonObject(error) ? error.data : undefined
  for (const part of [result, params, data]) {
    const meta = isJsonObject(part) ? part._meta : undefined
    if (isJsonObject(meta) && meta[META_KEY] !== undefined) return meta[META_KEY]
  }
  return undefined
}

/** A client takes anybody's word: a label only takes away. What it cannot read is the strictest. */
function readDatasets(said: unknown): readonly Dataset[] {
  if (!isJsonObject(said)) return [UNREADABLE]
  const listed = Array.isArray(said.datasets) ? said.datasets : []
  const datasets = listed.map((item: unknown): Dataset => {
    if (!isJsonObject(item) || typeof item.name !== 'string' || !isSensitivity(item.sensitivity)) return UNREADABLE
    return { name: item.name, sensitivity: item.sensitivity }
  })
  const whole = said.sensitivity
  if (whole === undefined && datasets.length > 0) return datasets
  if (!isSensitivity(whole)) return [...datasets, UNREADABLE]
  const isCovered = datasets.some(({ sensitivity }) => isAtLeast(sensitivity, whole))
  return isCovered ? datasets : [...datasets, { name: WHOLE, sensitivity: whole }]
}

/** The server holds more than it names. */
const WHOLE = 'data without a name'
const UNREADABLE: Dataset = { name: 'data with an unreadable label', sensitivity: HIGHEST_SENSITIVITY }
