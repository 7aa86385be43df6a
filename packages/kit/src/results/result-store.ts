import { type ContentKind, detectKind, SallyportError } from '@sallyport/core'
import type { OpenFile, Workspace } from '../workspace/workspace.ts'
import {
  createResultFile,
  extensionOfKind,
  extensionOfType,
  isHandle,
  parseResultFile,
  type ResultFile,
} from './result-file.ts'

/** What is known about a result before its content is inspected. */
export interface AboutResult {
  /** The name of the tool: it becomes a part of the file name. */
  readonly tool?: string
  /** The declared type. The type that is detected in the content overrides it. */
  readonly mimeType?: string
  /** The kind of text, if it was detected before. */
  readonly kind?: ContentKind
}

/** A result that was saved in full, and the handle to read it by. */
export interface SavedResult {
  readonly handle: string
  /** The path that the agent sees. */
  readonly path: string
  readonly mimeType: string
  /** In bytes. */
  readonly size: number
  readonly created: number
}

/** The saved results of one session. */
export interface ResultStore {
  /** Resolves once the full result is on the disk. */
  save(content: string | Uint8Array, about?: AboutResult): Promise<SavedResult>
  /** `undefined` if this session has no such result (any more). */
  read(handle: string): Promise<{ readonly saved: SavedResult; readonly bytes: Buffer } | undefined>
  list(): Promise<readonly SavedResult[]>
  /** Removes results that are too old; saving does so as well. */
  tidy(): Promise<void>
}

/** Where a result store stores results, and its limits. */
export interface ResultStoreOptions {
  /** The workspace of one session. Whoever can read it can read the results. */
  readonly workspace: Workspace
  readonly limits?: Partial<ResultStoreLimits>
  readonly now?: () => number
}

/** How much a result store stores, and for how long. */
export interface ResultStoreLimits {
  /** In milliseconds. */
  readonly age: number
  /** The maximum size of all results together, and of each. */
  readonly bytes: number
  readonly results: number
}

const RESULTS_FOLDER = '/workspace/results'
export const DEFAULT_LIMITS: ResultStoreLimits = { age: 7 * 24 * 60 * 60_000, bytes: 256 * 1024 * 1024, results: 1_000 }
const CHUNK_BYTES = 16 * 1024 * 1024

/** Each result is one file that is written atomically. There is no index that could be damaged, and a restart changes nothing. */
export function openResultStore(options: ResultStoreOptions): ResultStore {
  return new WorkspaceResultStore(options)
}

class WorkspaceResultStore implements ResultStore {
  readonly #workspace: Workspace
  readonly #limits: ResultStoreLimits
  readonly #now: () => number
  /** Results that are being saved. They are never removed to make room, because their callers do not know them yet. */
  readonly #saving = new Set<string>()

  constructor({ workspace, limits, now = Date.now }: ResultStoreOptions) {
    this.#workspace = workspace
    this.#limits = { ...DEFAULT_LIMITS, ...limits }
    this.#now = now
  }

  async save(content: string | Uint8Array, about: AboutResult = {}): Promise<SavedResult> {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    if (bytes.length > this.#limits.bytes)
      throw new SallyportError(
        'STATE_UNUSABLE',
        `The result has ${bytes.length} bytes; at most ${this.#limits.bytes} are stored.`,
      )
    const file = createResultFile({
      tool: about.tool,
      created: this.#now(),
      extension: chooseExtension(content, about),
    })
    this.#saving.add(file.name)
    try {
      await this.#workspace.makeDirectory(RESULTS_FOLDER)
      await this.#makeRoom(bytes.length)
      await this.#workspace.writeFile(pathOf(file), bytes)
      return toSavedResult(file, bytes.length)
    } finally {
      this.#saving.delete(file.name)
    }
  }

  async read(handle: string): Promise<{ readonly saved: SavedResult; readonly bytes: Buffer } | undefined> {
    if (!isHandle(handle)) return undefined
    const found = (await this.#files()).find(({ file }) => file.handle === handle)
    if (found === undefined || this.#isExpired(found.file)) return undefined
    const bytes = await this.#readBytes(found.file)
    return bytes && { saved: toSavedResult(found.file, bytes.length), bytes }
  }

  /** `undefined` if the file was removed meanwhile, or is larger than any saved result can be. */
  async #readBytes(file: ResultFile): Promise<Buffer | undefined> {
    try {
      return await this.#workspace.useFile(pathOf(file), (opened) => this.#readAll(opened))
    } catch (error) {
      if ((await this.#files()).some(({ file: { name } }) => name === file.name)) throw error
      return undefined
    }
  }

  async #readAll({ size, read }: OpenFile): Promise<Buffer | undefined> {
    if (size > this.#limits.bytes) return undefined
    const pieces: Buffer[] = []
    for (let offset = 0; offset < size; offset += CHUNK_BYTES)
      pieces.push(await read(offset, Math.min(CHUNK_BYTES, size - offset)))
    return Buffer.concat(pieces)
  }

  async list(): Promise<readonly SavedResult[]> {
    const files = await this.#files()
    return files.filter(({ file }) => !this.#isExpired(file)).map(({ file, size }) => toSavedResult(file, size))
  }

  async tidy(): Promise<void> {
    const old = (await this.#files()).filter(({ file }) => this.#isExpired(file))
    // Another process may have removed it already.
    for (const { file } of old) await this.#workspace.deleteFile(pathOf(file)).catch(() => undefined)
  }

  #isExpired({ created }: ResultFile): boolean {
    return this.#now() - created > this.#limits.age
  }

  /** Oldest first: names begin with the time. */
  async #files(): Promise<readonly StoredFile[]> {
    const entries = await this.#entries()
    return entries.flatMap(({ name, kind, size }) => {
      const file = kind === 'file' ? parseResultFile(name) : undefined
      return file === undefined ? [] : [{ file, size: size ?? 0 }]
    })
  }

  async #entries() {
    try {
      return (await this.#workspace.listDirectory(RESULTS_FOLDER)).entries
    } catch (error) {
      if (await this.#isMissing()) return []
      throw error
    }
  }

  async #isMissing(): Promise<boolean> {
    const { entries } = await this.#workspace.listDirectory('/workspace')
    return !entries.some(({ name }) => name === 'results')
  }

  /** Removes results that are too old, then the oldest ones until the new one fits. */
  async #makeRoom(bytes: number): Promise<void> {
    const files = (await this.#files()).filter(({ file }) => !this.#saving.has(file.name))
    let total = files.reduce((sum, { size }) => sum + size, bytes)
    let count = files.length + 1
    for (const { file, size } of files) {
      if (!this.#isExpired(file) && total <= this.#limits.bytes && count <= this.#limits.results) return
      // Another process may have removed it already.
      await this.#workspace.deleteFile(pathOf(file)).catch(() => undefined)
      total -= size
      count--
    }
  }
}

interface StoredFile {
  readonly file: ResultFile
  readonly size: number
}

const pathOf = ({ name }: ResultFile): string => `${RESULTS_FOLDER}/${name}`

const toSavedResult = (file: ResultFile, size: number): SavedResult => ({
  handle: file.handle,
  path: pathOf(file),
  mimeType: file.mimeType,
  size,
  created: file.created,
})

function chooseExtension(content: string | Uint8Array, { mimeType, kind }: AboutResult): string {
  if (typeof content !== 'string') return extensionOfType(mimeType)
  return extensionOfKind(kind ?? detectKind(content, mimeType === undefined ? {} : { mimeType }))
}
