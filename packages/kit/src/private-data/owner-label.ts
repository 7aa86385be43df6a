import { dirname, join } from 'node:path'
import { higherSensitivity, isAtLeast, quoteText, SallyportError, type Sensitivity } from '@sallyport/core'
import { createLabel, type Label, type PrivateDataset } from './label.ts'
import { addFile, codeOf, listNames, makeDurableFolder, readSmallFile } from './label-folder.ts'
import { MAX_RECORD_BYTES, readRecord, readRecordSensitivity, recordFileName, recordText } from './label-record.ts'

/** Beside the folders of the owners, whose names all end with a digest. */
const INCOMING = '.incoming'

/**
 * The label of one session: what this process knows, and what the folder says.
 *
 * Another process may raise it at any time, so every reading lists the folder anew: a cache could be too low. What was
 * seen once is kept, since nothing lowers it; so the text of each file is read only once.
 */
export class OwnerLabel {
  readonly #folder: string
  readonly #datasets = new Map<string, Sensitivity>()
  /** The files whose texts have been read or written here. */
  readonly #readFiles = new Set<string>()
  /** What was raised and is not known to be on the disk. */
  readonly #unwritten = new Map<string, Sensitivity>()
  /** What this process put on the disk and synced there. */
  readonly #durable = new Map<string, Sensitivity>()
  readonly #writing = new Set<Promise<void>>()
  #hasFolder = false

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Something would be lost if this were forgotten. */
  get hasPendingWrites(): boolean {
    return this.#writing.size > 0 || this.#unwritten.size > 0
  }

  /** In this process it counts at once; when it resolves, it counts for all and survives a loss of power. */
  async raise(dataset: PrivateDataset): Promise<void> {
    raiseIn(this.#datasets, dataset)
    raiseIn(this.#unwritten, dataset)
    await this.#write(dataset)
  }

  /** Resolves once all that was raised here is on the disk. What failed is tried once more, and then thrown. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#writing)
    for (const [name, sensitivity] of [...this.#unwritten]) await this.#write({ name, sensitivity })
  }

  async read(): Promise<Label> {
    const doubt = await this.#refresh()
    return createLabel(this.#datasets, doubt)
  }

  async #write(dataset: PrivateDataset): Promise<void> {
    if (!hasAtLeast(this.#durable, dataset)) {
      const writing = this.#addRecord(dataset)
      this.#writing.add(writing)
      await writing.finally(() => this.#writing.delete(writing))
      raiseIn(this.#durable, dataset)
    }
    const waiting = this.#unwritten.get(dataset.name)
    if (waiting !== undefined && isAtLeast(dataset.sensitivity, waiting)) this.#unwritten.delete(dataset.name)
  }

  async #addRecord(dataset: PrivateDataset): Promise<void> {
    const top = dirname(this.#folder)
    const incoming = join(top, INCOMING)
    const file = recordFileName(dataset)
    try {
      if (!this.#hasFolder) for (const folder of [incoming, this.#folder]) await makeDurableFolder(folder, top)
      this.#hasFolder = true
      await addFile(join(this.#folder, file), recordText(dataset.name), incoming)
    } catch (cause) {
      this.#hasFolder = false
      throw new SallyportError('STATE_UNUSABLE', `The label in ${this.#folder} was not raised: ${codeOf(cause)}.`, {
        hint: 'No result of the session is released until that is possible: see to the space on the disk and to the owner of the folder.',
        cause,
      })
    }
    this.#readFiles.add(file)
  }

  /** Takes in what the folder says, and says what of it could not be read: without the path, which is not for agents. */
  async #refresh(): Promise<string | undefined> {
    let names: readonly string[]
    try {
      names = await listNames(this.#folder)
    } catch (error) {
      return `The folder cannot be listed (${codeOf(error)})`
    }
    let doubt: string | undefined
    for (const name of names) {
      if (!this.#readFiles.has(name)) doubt = (await this.#readFile(name)) ?? doubt
    }
    return doubt
  }

  async #readFile(file: string): Promise<string | undefined> {
    const shown = quoteText(file, 100)
    if (readRecordSensitivity(file) === undefined) return `The file ${shown} is none of ours`
    try {
      const record = readRecord(file, await readSmallFile(join(this.#folder, file), MAX_RECORD_BYTES))
      if (record === undefined) return `The file ${shown} is damaged`
      raiseIn(this.#datasets, record)
      this.#readFiles.add(file)
      return undefined
    } catch (error) {
      return `The file ${shown} cannot be read (${codeOf(error)})`
    }
  }
}

function raiseIn(datasets: Map<string, Sensitivity>, { name, sensitivity }: PrivateDataset): void {
  datasets.set(name, higherSensitivity(datasets.get(name) ?? sensitivity, sensitivity))
}

function hasAtLeast(datasets: ReadonlyMap<string, Sensitivity>, { name, sensitivity }: PrivateDataset): boolean {
  const known = datasets.get(name)
  return known !== undefined && isAtLeast(known, sensitivity)
}
