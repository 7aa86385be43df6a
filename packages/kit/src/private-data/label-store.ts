import { createHash, randomUUID } from 'node:crypto'
import { constants, statSync } from 'node:fs'
import { type FileHandle, link, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
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
import { ownerFolder } from '../identity/identity.ts'
import { createLabel, type Label, type PrivateDataset } from './label.ts'

/** Whose label it is: one session of one user. */
export interface LabelOwner {
  readonly userId: string
  readonly sessionId: string
}

/** The labels below one folder, shared by any number of processes. */
export interface LabelStore {
  /** Resolves once it is durable, with the label that then holds. Never lowers anything. */
  raise(owner: LabelOwner, dataset: string, sensitivity: Sensitivity): Promise<Label>
  /** The label as it is now, whoever raised it. Never throws: what cannot be read counts as the strictest. */
  read(owner: LabelOwner): Promise<Label>
  /** Resolves once all that this process raised for the owner is durable; throws where it cannot be made so. */
  settle(owner: LabelOwner): Promise<void>
}

/** The settings of a label store. */
export interface LabelStoreOptions {
  /** Told once of each reason why a label cannot be read in full. Absent: standard error. */
  readonly onDoubt?: (doubt: string) => void
}

/** So many sessions are remembered; the rest is read again when it is asked for. */
const MAX_CACHED_OWNERS = 4096

/** Opens the store of labels in a folder, which several processes may share. */
export function openLabelStore(folder: string, { onDoubt = printDoubt }: LabelStoreOptions = {}): LabelStore {
  return new FolderLabelStore(resolve(folder), onDoubt)
}

class FolderLabelStore implements LabelStore {
  readonly #folder: string
  readonly #onDoubt: (doubt: string) => void
  readonly #owners = new Map<string, OwnerLabel>()
  readonly #reported = new Set<string>()

  constructor(folder: string, onDoubt: (doubt: string) => void) {
    this.#folder = folder
    this.#onDoubt = onDoubt
  }

  async raise(owner: LabelOwner, dataset: string, sensitivity: Sensitivity): Promise<Label> {
    checkDataset(dataset, sensitivity)
    await this.#openLabel(owner).raise({ name: dataset, sensitivity })
    return this.read(owner)
  }

  async read(owner: LabelOwner): Promise<Label> {
    const label = await this.#openLabel(owner).read()
    if (label.doubt !== undefined) this.#report(ownerFolder(this.#folder, owner.userId, owner.sessionId), label.doubt)
    return label
  }

  settle(owner: LabelOwner): Promise<void> {
    return this.#openLabel(owner).settle()
  }

  #openLabel({ userId, sessionId }: LabelOwner): OwnerLabel {
    const folder = ownerFolder(this.#folder, userId, sessionId)
    const label = this.#owners.get(folder) ?? new OwnerLabel(folder)
    // The one used last is last in the map, and forgotten last.
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

  #report(folder: string, doubt: string): void {
    const message = `${folder}: ${doubt}. The session counts as ${HIGHEST_SENSITIVITY} until that is mended.`
    if (this.#reported.has(message) || this.#reported.size > MAX_CACHED_OWNERS) return
    this.#reported.add(message)
    this.#onDoubt(message)
  }
}

/** Throws if this is no statement about a dataset. */
export function checkDataset(dataset: unknown, sensitivity: unknown): void {
  if (typeof dataset !== 'string' || dataset === '')
    throw new SallyportError('USAGE', 'A private dataset has no name.', { hint: 'Give a text such as "customers".' })
  if (dataset.length > MAX_NAME_LENGTH)
    throw new SallyportError('USAGE', `The name of a private dataset has ${dataset.length} characters.`, {
      hint: `Expected at most ${MAX_NAME_LENGTH}.`,
    })
  if (!isSensitivity(sensitivity))
    throw new SallyportError('USAGE', `A private dataset has the sensitivity ${describeLevel(sensitivity)}.`, {
      hint: `Expected one of ${SENSITIVITIES.join(', ')}.`,
    })
}

/** Anything may have been given: an object may throw when it is made a text. */
const describeLevel = (given: unknown): string =>
  typeof given === 'string' ? quoteText(given, 40) : given === null ? 'null' : `of type ${typeof given}`

function printDoubt(doubt: string): void {
  console.error(doubt)
}

/** Beside the folders of the owners, whose names all end with a digest. */
const INCOMING = '.incoming'

/**
 * The label of one session: what this process knows, and what the folder says.
 *
 * Another process may raise it at any time, so every reading lists the folder anew: a cache could be too low. What was
 * seen once is kept, since nothing lowers it; so the text of each file is read only once.
 */
class OwnerLabel {
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

/** The platforms that cannot sync a folder say so with one of these. */
const FOLDER_SYNC_REFUSED = new Set(['EINVAL', 'EISDIR', 'EPERM', 'ENOTSUP'])
/** How file systems without hard links refuse one. */
const LINK_REFUSED = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/**
 * The names in a folder; one that is not there has none. That is looked up at once, since most sessions never have one
 * and every result of theirs asks.
 */
async function listNames(folder: string): Promise<readonly string[]> {
  return isMissing(folder) ? [] : readdir(folder)
}

function isMissing(folder: string): boolean {
  try {
    // Not with `throwIfNoEntry: false`: from Node 24 on that is silent about ENOTDIR as well, which is no answer.
    statSync(folder)
    return false
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true
    throw error
  }
}

/** The whole of a small regular file. What else may lie there is never waited for: a FIFO has no end. */
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

/**
 * Adds a file for good: it is there whole or not at all, whatever dies meanwhile. One that is there stays as it is.
 * Nothing is ever renamed over, or removed from, the folder, so a listing that runs meanwhile misses nothing.
 */
async function addFile(path: string, text: string, incoming: string): Promise<void> {
  const temporary = join(incoming, randomUUID())
  try {
    await writeSynced(temporary, text)
    await moveIntoPlace(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
  // Also when another process placed it: that one may not have come to this line yet.
  await syncFolder(dirname(path))
}

async function moveIntoPlace(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    if (!LINK_REFUSED.has(codeOf(error))) throw error
    await rename(temporary, path)
  }
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes the folder, and makes its own name and those of the folders above it durable, from `top` downwards. */
async function makeDurableFolder(folder: string, top: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  const highest = dirname(first !== undefined && first.length < top.length ? first : top)
  for (let above = dirname(folder); above.length >= highest.length; above = dirname(above)) {
    await syncFolder(above)
    if (above === dirname(above)) return
  }
}

async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined
  try {
    folder = await open(path, 'r')
    await folder.sync()
  } catch (error) {
    if (!FOLDER_SYNC_REFUSED.has(codeOf(error))) throw error
  } finally {
    await folder?.close()
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

const MAX_NAME_LENGTH = 16_384
/** JSON writes a character with at most six bytes for each of its units, and two quotes around all. */
const MAX_RECORD_BYTES = 6 * MAX_NAME_LENGTH + 2

/**
 * One statement as a file: its name says how sensitive the dataset is, and proves what its text must be. So a listing
 * alone tells the sensitivity, and no text, whatever it holds, is part of a path.
 */
const RECORD_NAME = /^([a-z]+)-([0-9a-f]{64})$/

const recordFileName = ({ name, sensitivity }: PrivateDataset): string =>
  `${sensitivity.toLowerCase()}-${createHash('sha256').update(recordText(name)).digest('hex')}`

/** JSON writes a lone surrogate as an escape, where UTF-8 would make two names one. */
const recordText = (dataset: string): string => JSON.stringify(dataset)

function readRecordSensitivity(file: string): Sensitivity | undefined {
  const sensitivity = RECORD_NAME.exec(file)?.[1]?.toUpperCase()
  return isSensitivity(sensitivity) ? sensitivity : undefined
}

/** The dataset that a file is about; nothing when its text is not what its name proves. */
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
