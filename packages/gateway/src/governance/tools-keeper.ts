import { basename, dirname } from 'node:path'
import { canonicalName, excerpt, messageOf, SallyportError, type SallyportEvent, type ToolsFile } from '@sallyport/core'
import { mostBytesOf, readHomeFile } from '../config/config.ts'
import { FileWatch, lockOf, removeLeftovers, replaceFile, withLockFile } from '../disk/disk.ts'
import type { EntryUse } from './entry-shares.ts'
import { type LineChange, lineChange } from './line-change.ts'
import { issueText, parseToolsBytes } from './tools-bytes.ts'
import {
  appendEntries,
  type Change,
  type FieldChange,
  lineSizes,
  type NewEntry,
  type Parsing,
  readToolsFile,
  type Skipped,
  setField,
} from './tools-file/tools-file.ts'
import { Turns } from './turns.ts'
import { fromDisk, noFile, requireGood, unsafe } from './unsafe-file.ts'

export interface ToolsKeeperOptions {
  /** Where tools.yaml stands, or would. Undefined: there is none, and none is made. */
  readonly path: string | undefined
  /** What was read of it when the home was judged. */
  readonly bytes: Buffer | undefined
  /** Why these bytes may not be used yet; nothing when they may. */
  readonly distrust: (bytes: Buffer) => Promise<string | undefined>
  /** What we wrote ourselves into a trusted home stays trusted. */
  readonly onWritten: (change: { readonly before: Buffer | undefined; readonly after: Buffer }) => Promise<void>
  /** Another file is in force: `entries` where all that is new in it are entries for tools that had none. */
  readonly onChange: (what: FileNews) => void
  readonly record: (event: SallyportEvent) => void
  readonly onWarning: (text: string) => void
}

export type FileNews = 'entries' | 'rules'

interface Wish {
  readonly path: string
  readonly brings: FileNews
  readonly change: (parsing: Parsing) => Change
}

interface Written {
  readonly brings: FileNews
  readonly before: Buffer | undefined
  readonly after: Buffer
  readonly parsing: Parsing
}

/** Somebody else may write at the same time: then it is read again, so often. */
const MOST_TRIES = 20
const MOST_TOLD = 100
const LONGEST_TOLD = 500

/** tools.yaml: read when it changes, appended to, changed value by value. The last good one is in force. */
export class ToolsKeeper {
  readonly #options: ToolsKeeperOptions
  /** Of the file in force: what stands on the disk, and that parsed. */
  #bytes: Buffer | undefined
  #parsing: Parsing | undefined
  #file: ToolsFile
  #isUsable = true
  #issue: string | undefined
  #oddities: readonly string[] = []
  #notWritten: readonly string[] = []
  /** What was said before is not said again. */
  #told = ''
  readonly #toldNotWritten = new Set<string>()
  #watch: FileWatch | undefined
  /** One change, or one reading, after the other. */
  readonly #turns = new Turns()

  constructor(options: ToolsKeeperOptions) {
    this.#options = options
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

  /** Why the file as it stands on the disk is not in force. */
  get issue(): string | undefined {
    return this.#issue
  }

  /** What is odd in the file in force. */
  get oddities(): readonly string[] {
    return this.#oddities
  }

  /** Why tools that were found have no entry. */
  get notWritten(): readonly string[] {
    return this.#notWritten
  }

  /** How much of the file is about tools of a server. What only looks like an entry of it counts too. */
  useOf(server: string): EntryUse {
    const { entries } = this.#file
    const head = canonicalName({ server, tool: '' })
    const lines = entries.map(({ line }) => line - 1).sort((a, b) => a - b)
    const source = this.#parsing?.ok ? this.#parsing.file.source : undefined
    const sizes = new Map(source && lineSizes(source, lines).map((size, at) => [lines[at], size]))
    const own = entries.filter(({ key }) => key.startsWith(head))
    return { entries: own.length, bytes: own.reduce((sum, { line }) => sum + (sizes.get(line - 1) ?? 0), 0) }
  }

  /** From now on changes of the file are followed. What a killed writer left beside it is removed. */
  watch(): void {
    const { path } = this.#options
    if (path === undefined) return
    void this.#turns.take(() => removeLeftovers(path)).catch(() => undefined)
    const onEvent = (): Promise<void> => this.#turns.take(() => this.#reread(path))
    this.#watch = new FileWatch({ folder: dirname(path), names: [basename(path)], onEvent })
  }

  async close(): Promise<void> {
    await this.#watch?.close()
    await this.#turns.take(async () => undefined)
  }

  /** Writes down what was discovered, unless it cannot be done without touching what people wrote. */
  async append(entries: readonly NewEntry[]): Promise<void> {
    const { path } = this.#options
    if (path === undefined || entries.length === 0) return
    this.#notWritten = []
    try {
      const change = (parsing: Parsing): Change => appendEntries(parsing, entries)
      const skipped = await this.#turns.take(() => this.#change({ path, brings: 'entries', change }))
      this.#tellNotWritten(skipped.map(({ name, why }) => `${name} has no entry: ${why}`))
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error
      this.#tellNotWritten([`${error.text} ${MEANWHILE}`])
    }
  }

  /** Changes exactly one value, in a person's name. */
  async set(field: FieldChange): Promise<void> {
    const { path } = this.#options
    if (path === undefined) throw noFile()
    const change = (parsing: Parsing): Change => setField(parsing, field)
    await this.#turns.take(() => this.#change({ path, brings: 'rules', change }))
  }

  /** What `set` would do to the file now. */
  async preview(change: FieldChange): Promise<LineChange> {
    const { path } = this.#options
    if (path === undefined) throw noFile()
    const parsing = this.#parse(await readHomeFile(path))
    const changed = setField(parsing, change)
    if (!changed.ok) throw unsafe(path, changed.why)
    const { source } = parsing.ok ? parsing.file : parsing
    return lineChange(path, source.text, changed.text)
  }

  async #change(wish: Wish): Promise<readonly Skipped[]> {
    const { path } = wish
    try {
      return await withLockFile(lockOf(path), async (isHeld) => {
        for (let tries = 0; tries < MOST_TRIES; tries++) {
          const skipped = await this.#tryChange(wish, isHeld)
          if (skipped) return skipped
        }
        throw unsafe(path, 'it was changed again and again while it was to be written')
      })
    } catch (error) {
      throw fromDisk(path, error)
    }
  }

  /** Nothing when somebody else was quicker. */
  async #tryChange(
    { path, brings, change }: Wish,
    isHeld: () => Promise<boolean>,
  ): Promise<readonly Skipped[] | undefined> {
    const before = await readHomeFile(path)
    // Who takes the file away may be about to put another in its place; a new one would undo what people decided.
    if (before === undefined && this.#bytes !== undefined) throw unsafe(path, REMOVED)
    const parsing = this.#parse(before)
    const changed = change(parsing)
    if (!changed.ok) throw unsafe(path, changed.why)
    if (changed.splices.length === 0) {
      await this.#catchUp(before)
      return changed.skipped
    }
    if (!same(before, this.#bytes)) requireGood(parsing, path)
    const after = Buffer.from(changed.text)
    if (after.length > mostBytesOf(path)) throw unsafe(path, 'it would become larger than what is read of it')
    const isWanted = async (): Promise<boolean> => (await isHeld()) && same(await readHomeFile(path), before)
    if (!(await replaceFile(path, after, { isWanted }))) return undefined
    await this.#written({ brings, before, after, parsing: changed.parsing })
    return changed.skipped
  }

  /** Another process may have written what was to be written, and nobody has looked since. */
  async #catchUp(bytes: Buffer | undefined): Promise<void> {
    if (bytes !== undefined && !same(bytes, this.#bytes)) await this.#consider(bytes)
  }

  async #written({ brings, before, after, parsing }: Written): Promise<void> {
    // What was not in force before does not come into force by our own hand.
    const wasInForce = same(before, this.#bytes)
    await this.#options.onWritten({ before, after })
    if (!wasInForce) return this.#consider(after)
    if (this.#take(after, parsing)) this.#options.onChange(brings)
  }

  async #reread(path: string): Promise<void> {
    try {
      const bytes = await readHomeFile(path)
      if (bytes === undefined) return this.#missed(path)
      if (same(bytes, this.#bytes)) return this.#settle()
      await this.#consider(bytes)
    } catch (error) {
      this.#reject(messageOf(error))
    }
  }

  /** Puts what stands in the file in force, if it may be and can be. */
  async #consider(bytes: Buffer): Promise<void> {
    const { distrust, onChange, record } = this.#options
    const reason = await distrust(bytes)
    if (reason !== undefined) return this.#reject(reason)
    if (!this.#take(bytes)) return this.#reject(this.#issue ?? '')
    record({ type: 'TOOLS_FILE_RELOADED', file: this.#file.path, entries: this.#file.entries.length })
    onChange('rules')
  }

  #missed(path: string): void {
    if (this.#bytes !== undefined) this.#reject(`${path} is not there: ${REMOVED}`)
  }

  /** The file is again what is in force. */
  #settle(): void {
    this.#issue = undefined
    this.#told = ''
  }

  #reject(reason: string): void {
    this.#issue = reason
    if (this.#told === reason) return
    this.#told = reason
    const effect = this.#isUsable
      ? 'What it said before stays in force.'
      : 'Nothing can be called until it is corrected.'
    this.#options.onWarning(`tools.yaml is not used: ${reason} ${effect}`)
    this.#options.record({ type: 'TOOLS_FILE_REJECTED', file: this.#file.path, message: reason })
  }

  #parse(bytes: Buffer | undefined): Parsing {
    return (same(bytes, this.#bytes) && this.#parsing) || parseToolsBytes(bytes)
  }

  /** Whether it can be used; if so it is in force. */
  #take(bytes: Buffer, parsing = parseToolsBytes(bytes)): boolean {
    const { path } = this.#file
    const reading = readToolsFile(parsing, path)
    if (!reading.ok) {
      this.#issue = issueText(path, reading.issue)
      return false
    }
    this.#bytes = bytes
    this.#parsing = parsing
    this.#file = reading.file
    this.#isUsable = true
    this.#find(reading.warnings.map((warning) => issueText(path, warning)))
    this.#settle()
    return true
  }

  /** A rule with a slip in its name is not in force: that must not wait until somebody asks. */
  #find(oddities: readonly string[]): void {
    const news = oddities.filter((odd) => !this.#oddities.includes(odd))
    this.#oddities = oddities
    for (const odd of news) this.#options.onWarning(odd)
  }

  #tellNotWritten(reasons: readonly string[]): void {
    this.#notWritten = reasons
    if (reasons.length === 0) this.#toldNotWritten.clear()
    // What is wrong with the file has been told already.
    if (this.#issue !== undefined) return
    for (const reason of reasons) this.#tellOnce(excerpt(reason, LONGEST_TOLD))
  }

  /** Whoever names tools may never stop: the last that is said of it is where the rest can be read. */
  #tellOnce(reason: string): void {
    const told = this.#toldNotWritten
    if (told.has(reason) || told.size > MOST_TOLD) return
    told.add(reason)
    const said = told.size > MOST_TOLD ? 'There are more. `sallyport tools check` names them all.' : reason
    this.#options.onWarning(`New tools are not written down: ${said}`)
  }
}

const MEANWHILE = 'Until then tools without an entry are governed by what their names tell.'
const REMOVED = 'it was removed while the gateway ran. Put it back, or restart the gateway to begin anew'

const emptyFile = (path: string): ToolsFile => ({ path, entries: [], categories: new Map(), modePolicies: new Map() })

const same = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.equals(b))
