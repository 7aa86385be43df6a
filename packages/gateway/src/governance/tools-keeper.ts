import { realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { SallyportError, type SallyportEvent, type ToolsFile } from '@sallyport/core'
import { causeCode, FileWatch, replaceFile, withLockFile } from '../disk/disk.ts'
import { type LineChange, lineChange } from './line-change.ts'
import {
  appendEntries,
  type Change,
  type FieldChange,
  type FileIssue,
  type NewEntry,
  readToolsFile,
  setField,
} from './tools-file/tools-file.ts'

export interface ToolsKeeperOptions {
  /** Where tools.yaml stands, or would. Undefined: there is none, and none is made. */
  readonly path: string | undefined
  /** What was read of it when the home was judged. */
  readonly bytes: Buffer | undefined
  /** Why these bytes may not be used yet; nothing when they may. */
  readonly distrust: (bytes: Buffer) => Promise<string | undefined>
  /** What we wrote ourselves into a trusted home stays trusted. */
  readonly onWritten: (change: { readonly before: Buffer | undefined; readonly after: Buffer }) => Promise<void>
  /** Another file is in force. */
  readonly onChange: () => void
  readonly record: (event: SallyportEvent) => void
  readonly onWarning: (text: string) => void
}

/** Somebody else may write at the same time: then it is read again, so often. */
const MOST_TRIES = 20

/** tools.yaml: read when it changes, appended to, changed value by value. The last good one is in force. */
export class ToolsKeeper {
  readonly #options: ToolsKeeperOptions
  #bytes: Buffer | undefined
  #file: ToolsFile
  #isUsable = true
  #issue: string | undefined
  #warnings: readonly string[] = []
  #notWritten: string | undefined
  #told = ''
  #watch: FileWatch | undefined
  #writing: Promise<unknown> = Promise.resolve()

  constructor(options: ToolsKeeperOptions) {
    this.#options = options
    this.#bytes = options.bytes
    this.#file = emptyFile(options.path ?? 'tools.yaml')
    if (options.bytes !== undefined) this.#isUsable = this.#take(options.bytes)
  }

  /** The last good one; empty where there never was any. */
  get file(): ToolsFile {
    return this.#file
  }

  /** Why nothing is known of what people decided: then everything is closed. */
  get flaw(): string | undefined {
    return this.#isUsable ? undefined : this.#issue
  }

  /** What people should know about the file: why it is not in force, why it is not written, what is odd in it. */
  get warnings(): readonly string[] {
    return [this.#issue, this.#notWritten, ...this.#warnings].filter((text) => text !== undefined)
  }

  /** From now on changes of the file are followed. */
  watch(): void {
    const { path } = this.#options
    if (path === undefined) return
    const onEvent = (): Promise<void> => this.#inTurn(() => this.#reread(path))
    this.#watch = new FileWatch({ folder: dirname(path), names: [basename(path)], onEvent })
  }

  async close(): Promise<void> {
    await this.#watch?.close()
    await this.#writing
  }

  /** Writes down what was discovered, unless it cannot be done without touching what people wrote. */
  async append(entries: readonly NewEntry[]): Promise<void> {
    const { path } = this.#options
    if (path === undefined || entries.length === 0) return
    this.#notWritten = undefined
    try {
      await this.#inTurn(() => this.#change(path, (text) => appendEntries(text, entries)))
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error
      this.#warnOnce(error.text)
    }
  }

  /** Changes exactly one value, in a person's name. */
  async set(change: FieldChange): Promise<void> {
    const { path } = this.#options
    if (path === undefined) throw noFile()
    await this.#inTurn(() => this.#change(path, (text) => setField(text, change)))
  }

  /** What `set` would do to the file now. */
  async preview(change: FieldChange): Promise<LineChange> {
    const { path } = this.#options
    if (path === undefined) throw noFile()
    const bytes = await readIfThere(path)
    const before = bytes === undefined ? '' : decode(path, bytes)
    const changed = setField(before, change)
    if (!changed.ok) throw unsafe(path, changed.why)
    return lineChange(path, before, changed.text)
  }

  async #change(path: string, change: (text: string) => Change): Promise<void> {
    const target = realPath(path)
    await withLockFile(join(dirname(target), `.${basename(target)}.lock`), async (isHeld) => {
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const before = await readIfThere(path)
        const changed = change(before === undefined ? '' : decode(path, before))
        if (!changed.ok) throw unsafe(path, changed.why)
        for (const { name, why } of changed.skipped) this.#warnOnce(`${name} has no entry: ${why}`)
        if (changed.splices.length === 0) return
        const after = Buffer.from(changed.text)
        const isWanted = async (): Promise<boolean> => (await isHeld()) && same(await readIfThere(path), before)
        if (await replaceFile(path, after, { isWanted })) return this.#written(before, after)
      }
      throw unsafe(path, 'it was changed again and again while it was to be written')
    })
  }

  async #written(before: Buffer | undefined, after: Buffer): Promise<void> {
    // What was not in force before does not come into force by our own hand.
    const wasInForce = before === undefined || same(before, this.#bytes)
    await this.#options.onWritten({ before, after })
    if (wasInForce) this.#adopt(after)
  }

  #adopt(bytes: Buffer | undefined): void {
    if (bytes === undefined || same(bytes, this.#bytes)) return
    if (this.#take(bytes)) this.#options.onChange()
  }

  async #reread(path: string): Promise<void> {
    const { distrust, onChange, record } = this.#options
    const bytes = await readIfThere(path).catch((error: unknown) => this.#unread(error))
    if (bytes === undefined || same(bytes, this.#bytes)) return
    const reason = await distrust(bytes)
    if (reason !== undefined) return this.#reject(reason)
    if (!this.#take(bytes)) return this.#reject(this.#issue ?? '')
    this.#told = ''
    record({ type: 'TOOLS_FILE_RELOADED', file: path, entries: this.#file.entries.length })
    onChange()
  }

  #unread(error: unknown): undefined {
    this.#reject(`${this.#file.path} cannot be read: ${causeCode(error) || String(error)}.`)
    return undefined
  }

  #reject(reason: string): void {
    this.#issue = reason
    if (this.#told === reason) return
    this.#told = reason
    this.#options.onWarning(`The changed tools.yaml is not used: ${reason}`)
    this.#options.record({ type: 'TOOLS_FILE_REJECTED', file: this.#file.path, message: reason })
  }

  /** Whether it can be used; if so it is in force. */
  #take(bytes: Buffer): boolean {
    const { path } = this.#file
    const reading = readBytes(path, bytes)
    if (!reading.ok) {
      this.#issue = describe(path, reading.issue)
      return false
    }
    this.#bytes = bytes
    this.#file = reading.file
    this.#isUsable = true
    this.#issue = undefined
    this.#warnings = reading.warnings.map((warning) => describe(path, warning))
    return true
  }

  #warnOnce(text: string): void {
    if (this.#notWritten === text) return
    this.#notWritten = text
    this.#options.onWarning(`New tools are not written down: ${text}`)
  }

  /** One change, or one reading, after the other. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#writing.then(work)
    this.#writing = turn.catch(() => undefined)
    return turn
  }
}

const emptyFile = (path: string): ToolsFile => ({ path, entries: [], categories: new Map(), modePolicies: new Map() })

const describe = (path: string, { line, column, problem }: FileIssue): string => `${path}:${line}:${column}: ${problem}`

const same = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.equals(b))

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (causeCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Two ways to one file share one lock. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function readBytes(path: string, bytes: Buffer): ReturnType<typeof readToolsFile> {
  const text = utf8(bytes)
  if (text === undefined) return { ok: false, issue: { line: 1, column: 1, problem: 'this is not UTF-8 text.' } }
  return readToolsFile(text, path)
}

function decode(path: string, bytes: Buffer): string {
  const text = utf8(bytes)
  if (text === undefined) throw unsafe(path, 'it is not UTF-8 text')
  return text
}

/** With its byte order mark, which has to stay where it is. */
function utf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const noFile = (): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', 'This gateway has no tools.yaml that could be changed.')

const unsafe = (path: string, why: string): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', `${path} is left as it is: ${why}.`, {
    hint: 'Until then tools without an entry are governed by what their names tell.',
  })
