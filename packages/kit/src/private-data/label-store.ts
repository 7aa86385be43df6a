import { createHash } from 'node:crypto'
import { constants, statSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import {
  HIGHEST_SENSITIVITY,
  higherSensitivity,
  isAtLeast,
  isSensitivity,
  quoteText,
  SallyportError,
  SENSITIVITIES,
  type Sensitivity,
} from '@sallyport/core'
import { addFile, codeOf, makeDurableFolder } from '../add-file.ts'
import { ownerFolder } from '../identity/identity.ts'
import { createLabel, type Label, type PrivateDataset } from './label.ts'

/** The owner of a label: one session of one user. */
export interface LabelOwner {
  readonly userId: string
  readonly sessionId: string
}

/** The labels below one folder, shared by any number of processes. */
export interface LabelStore {
  /** Resolves with the resulting label once it is stored. Never lowers a label. */
  raise(owner: LabelOwner, dataset: string, sensitivity: Sensitivity): Promise<Label>
  /** The current label, whichever process raised it. Never throws: a label that cannot be read counts as the strictest. */
  read(owner: LabelOwner): Promise<Label>
  /** Resolves once everything that this process raised for the owner is stored; throws if it cannot be stored. */
  settle(owner: LabelOwner): Promise<void>
}

/** The settings of a label store. */
export interface LabelStoreOptions {
  /** Called once for each reason why a label cannot be read in full. Default: prints to standard error. */
  readonly onProblem?: (problem: string) => void
}

/** The maximum number of cached sessions; the others are read again when needed. */
const MAX_CACHED_OWNERS = 4096

/** Opens the label store in a folder, which several processes may share. */
export function openLabelStore(folder: string, { onProblem = printProblem }: LabelStoreOptions = {}): LabelStore {
  return new FolderLabelStore(resolve(folder), onProblem)
}

class FolderLabelStore implements LabelStore {
  readonly #folder: string
  readonly #onProblem: (problem: string) => void
  readonly #owners = new Map<string, OwnerLabel>()
  readonly #reported = new Set<string>()

  constructor(folder: string, onProblem: (problem: string) => void) {
    this.#folder = folder
    this.#onProblem = onProblem
  }

  async raise(owner: LabelOwner, dataset: string, sensitivity: Sensitivity): Promise<Label> {
    checkDataset(dataset, sensitivity)
    await this.#openLabel(owner).raise({ name: dataset, sensitivity })
    return this.read(owner)
  }

  async read(owner: LabelOwner): Promise<Label> {
    const label = await this.#openLabel(owner).read()
    if (label.problem !== undefined)
      this.#report(ownerFolder(this.#folder, owner.userId, owner.sessionId), label.problem)
    return label
  }

  settle(owner: LabelOwner): Promise<void> {
    return this.#openLabel(owner).settle()
  }

  #openLabel({ userId, sessionId }: LabelOwner): OwnerLabel {
    const folder = ownerFolder(this.#folder, userId, sessionId)
    const label = this.#owners.get(folder) ?? new OwnerLabel(folder)
    // The map is in order of use, so the least recently used one is evicted first.
    this.#owners.delete(folder)
    this.#owners.set(folder, label)
    if (this.#owners.size > MAX_CACHED_OWNERS) this.#forgetOldest()
    return label
  }

  #forgetOldest(): void {
    for (const [folder, label] of this.#owners) {
      if (label.hasPendingWrites) continue
      this.#owners.delete(folder)
      return
    }
  }

  #report(folder: string, problem: string): void {
    const message = `${folder}: ${problem}. The session counts as ${HIGHEST_SENSITIVITY} until that is repaired.`
    if (this.#reported.has(message) || this.#reported.size > MAX_CACHED_OWNERS) return
    this.#reported.add(message)
    this.#onProblem(message)
  }
}

/** Throws if the name or the sensitivity of a dataset is invalid. */
export function checkDataset(dataset: unknown, sensitivity: unknown): void {
  if (typeof dataset !== 'string' || dataset === '')
    throw new SallyportError('USAGE', 'A private dataset has no name.', { hint: 'Give a string such as "customers".' })
  if (dataset.length > MAX_NAME_LENGTH)
    throw new SallyportError('USAGE', `The name of a private dataset has ${dataset.length} characters.`, {
      hint: `Expected at most ${MAX_NAME_LENGTH}.`,
    })
  if (!isSensitivity(sensitivity))
    throw new SallyportError('USAGE', `A private dataset has the sensitivity ${describeLevel(sensitivity)}.`, {
      hint: `Expected one of ${SENSITIVITIES.join(', ')}.`,
    })
}

/** The value may be anything: an object may throw when it is converted to a string. */
const describeLevel = (value: unknown): string =>
  typeof value === 'string' ? quoteText(value, 40) : value === null ? 'null' : `of type ${typeof value}`

function printProblem(problem: string): void {
  console.error(problem)
}

/** A folder beside those of the owners, whose names all end with a digest. */
const INCOMING = '.incoming'

/**
 * The label of one session: what this process knows, and what is in the folder.
 *
 * Another process may raise it at any time, so every read lists the folder again: a cached label could be too low. What
 * was read once is cached, since nothing lowers it, so each file is read only once.
 */
class OwnerLabel {
  readonly #folder: string
  readonly #datasets = new Map<string, Sensitivity>()
  /** The files that this process has read or written. */
  readonly #readFiles = new Set<string>()
  /** What was raised and may not be on the disk yet. */
  readonly #unwritten = new Map<string, Sensitivity>()
  /** What this process wrote to the disk and synced. */
  readonly #durable = new Map<string, Sensitivity>()
  readonly #writing = new Set<Promise<void>>()
  #hasFolder = false

  constructor(folder: string) {
    this.#folder = folder
  }

  /** True if evicting this from the cache would lose data. */
  get hasPendingWrites(): boolean {
    return this.#writing.size > 0 || this.#unwritten.size > 0
  }

  /** It is valid in this process at once. When it resolves, it is valid for all processes and survives a power loss. */
  async raise(dataset: PrivateDataset): Promise<void> {
    raiseIn(this.#datasets, dataset)
    raiseIn(this.#unwritten, dataset)
    await this.#write(dataset)
  }

  /** Resolves once everything raised here is on the disk. A failed write is retried once, then thrown. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#writing)
    for (const [name, sensitivity] of [...this.#unwritten]) await this.#write({ name, sensitivity })
  }

  async read(): Promise<Label> {
    const problem = await this.#refresh()
    return createLabel(this.#datasets, problem)
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
        hint: 'No result of the session is released until that works: check the free disk space and the owner of the folder.',
        cause,
      })
    }
    this.#readFiles.add(file)
  }

  /** Reads the folder, and returns what could not be read: without the path, which agents must not see. */
  async #refresh(): Promise<string | undefined> {
    let names: readonly string[]
    try {
      names = await listNames(this.#folder)
    } catch (error) {
      return `The folder cannot be listed (${codeOf(error)})`
    }
    let problem: string | undefined
    for (const name of names) {
      if (!this.#readFiles.has(name)) problem = (await this.#readFile(name)) ?? problem
    }
    return problem
  }

  async #readFile(file: string): Promise<string | undefined> {
    const shown = quoteText(file, 100)
    if (readRecordSensitivity(file) === undefined) return `The file ${shown} is not a label file`
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
  const stored = datasets.get(name)
  return stored !== undefined && isAtLeast(stored, sensitivity)
}

/**
 * The names in a folder; empty if it is missing. That is checked first, since most sessions never have a folder, and
 * every one of their results reads it.
 */
async function listNames(folder: string): Promise<readonly string[]> {
  return isMissing(folder) ? [] : readdir(folder)
}

function isMissing(folder: string): boolean {
  try {
    // Not with `throwIfNoEntry: false`: from Node 24 on that also ignores ENOTDIR, which is an error here.
    statSync(folder)
    return false
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true
    throw error
  }
}

/** Reads a small regular file. Anything else is refused without waiting: a FIFO has no end. */
async function readSmallFile(path: string, limit: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0))
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > limit) return ''
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

const MAX_NAME_LENGTH = 16_384
/** JSON needs at most six bytes for each UTF-16 code unit, and two quotes. */
const MAX_RECORD_BYTES = 6 * MAX_NAME_LENGTH + 2

/**
 * One statement is one file. Its name has the dataset's sensitivity and a digest of its content. So a listing alone
 * shows the sensitivity, and no text from a handler is part of a path.
 */
const RECORD_NAME = /^([a-z]+)-([0-9a-f]{64})$/

const recordFileName = ({ name, sensitivity }: PrivateDataset): string =>
  `${sensitivity.toLowerCase()}-${createHash('sha256').update(recordText(name)).digest('hex')}`

/** JSON escapes a lone surrogate, where UTF-8 would make two different names equal. */
const recordText = (dataset: string): string => JSON.stringify(dataset)

function readRecordSensitivity(file: string): Sensitivity | undefined {
  const sensitivity = RECORD_NAME.exec(file)?.[1]?.toUpperCase()
  return isSensitivity(sensitivity) ? sensitivity : undefined
}

/** The dataset in a file; `undefined` if the content does not match the digest in the name. */
function readRecord(file: string, text: string): PrivateDataset | undefined {
  const sensitivity = readRecordSensitivity(file)
  const name = parseString(text)
  if (sensitivity === undefined || name === undefined) return undefined
  return recordFileName({ name, sensitivity }) === file ? { name, sensitivity } : undefined
}

function parseString(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
