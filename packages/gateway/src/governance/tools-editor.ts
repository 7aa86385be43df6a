import { isUtf8 } from 'node:buffer'
import { basename, dirname } from 'node:path'
import {
  canonicalName,
  excerpt,
  messageOf,
  type ParsedToolsFile,
  SallyportError,
  type SallyportEvent,
} from '@sallyport/core'
import { maxHomeFileBytes, readHomeFile } from '../config/config.ts'
import {
  causeCode,
  describeDiskError,
  FileWatch,
  lockPathOf,
  removeStaleWriterFiles,
  replaceFile,
  withLockFile,
} from '../disk/disk.ts'
import type { EntryUsage } from './entry-quota.ts'
import { diffLines, type LineChange } from './line-change.ts'
import { SerialQueue } from './serial-queue.ts'
import {
  appendEntries,
  type EditResult,
  type FieldChange,
  type FileIssue,
  measureLines,
  type NewEntry,
  type ParseResult,
  parseToolsFile,
  readToolsFile,
  type SkippedEntry,
  setField,
  type ToolsFileResult,
} from './tools-file/tools-file.ts'

export interface ToolsEditorOptions {
  /** Where tools.yaml stands, or would. Undefined: there is none, and none is made. */
  readonly path: string | undefined
  /** What was read of it when the home was judged. */
  readonly bytes: Buffer | undefined
  /** Why these bytes may not be used yet; nothing when they may. */
  readonly findTrustProblem: (bytes: Buffer) => Promise<string | undefined>
  /** What we wrote ourselves into a trusted home stays trusted. */
  readonly onWritten: (change: { readonly before: Buffer | undefined; readonly after: Buffer }) => Promise<void>
  /** Another file is in force: `entries` where all that is new in it are entries for tools that had none. */
  readonly onChange: (what: ToolsFileChange) => void
  readonly record: (event: SallyportEvent) => void
  readonly onWarning: (text: string) => void
}

export type ToolsFileChange = 'entries' | 'rules'

interface EditRequest {
  readonly path: string
  readonly kind: ToolsFileChange
  readonly change: (parsing: ParseResult) => EditResult
}

interface WrittenEdit {
  readonly kind: ToolsFileChange
  readonly before: Buffer | undefined
  readonly after: Buffer
  readonly parsing: ParseResult
}

/** Somebody else may write at the same time: then it is read again, so often. */
const MAX_ATTEMPTS = 20
const MAX_WARNINGS = 100
const MAX_WARNING_LENGTH = 500

/** tools.yaml: read when it changes, appended to, changed value by value. The last good one is in force. */
export class ToolsEditor {
  readonly #options: ToolsEditorOptions
  /** Of the file in force: what stands on the disk, and that parsed. */
  #bytes: Buffer | undefined
  #parsing: ParseResult | undefined
  #file: ParsedToolsFile
  #isUsable = true
  #issue: string | undefined
  #warnings: readonly string[] = []
  #notWritten: readonly string[] = []
  /** What was said before is not said again. */
  #lastRejection = ''
  readonly #warnedNotWritten = new Set<string>()
  #watch: FileWatch | undefined
  /** One change, or one reading, after the other. */
  readonly #queue = new SerialQueue()

  constructor(options: ToolsEditorOptions) {
    this.#options = options
    this.#file = emptyFile(options.path ?? 'tools.yaml')
    if (options.bytes !== undefined) this.#isUsable = this.#apply(options.bytes)
  }

  /** The last good one; empty where there never was any. */
  get file(): ParsedToolsFile {
    return this.#file
  }

  /** Why nothing is known of what people decided: then everything is closed. */
  get unusableReason(): string | undefined {
    return this.#isUsable ? undefined : this.#issue
  }

  /** Why the file as it stands on the disk is not in force. */
  get issue(): string | undefined {
    return this.#issue
  }

  /** What is odd in the file in force. */
  get warnings(): readonly string[] {
    return this.#warnings
  }

  /** Why tools that were found have no entry. */
  get notWritten(): readonly string[] {
    return this.#notWritten
  }

  /** How much of the file is about tools of a server. What only looks like an entry of it counts too. */
  usageOf(server: string): EntryUsage {
    const { entries } = this.#file
    const head = canonicalName({ server, tool: '' })
    const lines = entries.map(({ line }) => line - 1).sort((a, b) => a - b)
    const source = this.#parsing?.ok ? this.#parsing.file.source : undefined
    const sizes = new Map(source && measureLines(source, lines).map((size, at) => [lines[at], size]))
    const own = entries.filter(({ key }) => key.startsWith(head))
    return { entries: own.length, bytes: own.reduce((sum, { line }) => sum + (sizes.get(line - 1) ?? 0), 0) }
  }

  /** From now on changes of the file are followed. What a killed writer left beside it is removed. */
  watch(): void {
    const { path } = this.#options
    if (path === undefined) return
    void this.#queue.run(() => removeStaleWriterFiles(path)).catch(() => undefined)
    const onEvent = (): Promise<void> => this.#queue.run(() => this.#reread(path))
    this.#watch = new FileWatch({ folder: dirname(path), names: [basename(path)], onEvent })
  }

  async close(): Promise<void> {
    await this.#watch?.close()
    await this.#queue.run(async () => undefined)
  }

  /** Writes down what was discovered, unless it cannot be done without touching what people wrote. */
  async append(entries: readonly NewEntry[]): Promise<void> {
    const { path } = this.#options
    if (path === undefined || entries.length === 0) return
    this.#notWritten = []
    try {
      const change = (parsing: ParseResult): EditResult => appendEntries(parsing, entries)
      const skipped = await this.#queue.run(() => this.#change({ path, kind: 'entries', change }))
      this.#warnNotWritten(skipped.map(({ name, why }) => `${name} has no entry: ${why}`))
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error
      this.#warnNotWritten([`${error.text} ${MEANWHILE}`])
    }
  }

  /** Changes exactly one value, in a person's name. */
  async set(field: FieldChange): Promise<void> {
    const { path } = this.#options
    if (path === undefined) throw noToolsFileError()
    const change = (parsing: ParseResult): EditResult => setField(parsing, field)
    await this.#queue.run(() => this.#change({ path, kind: 'rules', change }))
  }

  /** What `set` would do to the file now. */
  async preview(change: FieldChange): Promise<LineChange> {
    const { path } = this.#options
    if (path === undefined) throw noToolsFileError()
    const parsing = this.#parse(await readHomeFile(path))
    const changed = setField(parsing, change)
    if (!changed.ok) throw unsafeFileError(path, changed.why)
    const { source } = parsing.ok ? parsing.file : parsing
    return diffLines(path, source.text, changed.text)
  }

  async #change(wish: EditRequest): Promise<readonly SkippedEntry[]> {
    const { path } = wish
    try {
      return await withLockFile(lockPathOf(path), async (isHeld) => {
        for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
          const skipped = await this.#tryChange(wish, isHeld)
          if (skipped) return skipped
        }
        throw unsafeFileError(path, 'it was changed again and again while it was to be written')
      })
    } catch (error) {
      throw toUnsafeFileError(path, error)
    }
  }

  /** Nothing when somebody else was quicker. */
  async #tryChange(
    { path, kind, change }: EditRequest,
    isHeld: () => Promise<boolean>,
  ): Promise<readonly SkippedEntry[] | undefined> {
    const before = await readHomeFile(path)
    // Who takes the file away may be about to put another in its place; a new one would undo what people decided.
    if (before === undefined && this.#bytes !== undefined) throw unsafeFileError(path, REMOVED)
    const parsing = this.#parse(before)
    const changed = change(parsing)
    if (!changed.ok) throw unsafeFileError(path, changed.why)
    if (changed.splices.length === 0) {
      await this.#catchUp(before)
      return changed.skipped
    }
    if (!isSameContent(before, this.#bytes)) assertValid(parsing, path)
    const after = Buffer.from(changed.text)
    if (after.length > maxHomeFileBytes(path))
      throw unsafeFileError(path, 'it would become larger than what is read of it')
    const isWanted = async (): Promise<boolean> => (await isHeld()) && isSameContent(await readHomeFile(path), before)
    if (!(await replaceFile(path, after, { isWanted }))) return undefined
    await this.#onWritten({ kind, before, after, parsing: changed.parsing })
    return changed.skipped
  }

  /** Another process may have written what was to be written, and nobody has looked since. */
  async #catchUp(bytes: Buffer | undefined): Promise<void> {
    if (bytes !== undefined && !isSameContent(bytes, this.#bytes)) await this.#reload(bytes)
  }

  async #onWritten({ kind, before, after, parsing }: WrittenEdit): Promise<void> {
    // What was not in force before does not come into force by our own hand.
    const wasInForce = isSameContent(before, this.#bytes)
    await this.#options.onWritten({ before, after })
    if (!wasInForce) return this.#reload(after)
    if (this.#apply(after, parsing)) this.#options.onChange(kind)
  }

  async #reread(path: string): Promise<void> {
    try {
      const bytes = await readHomeFile(path)
      if (bytes === undefined) return this.#onMissing(path)
      if (isSameContent(bytes, this.#bytes)) return this.#clearIssue()
      await this.#reload(bytes)
    } catch (error) {
      this.#reject(messageOf(error))
    }
  }

  /** Puts what stands in the file in force, if it may be and can be. */
  async #reload(bytes: Buffer): Promise<void> {
    const { findTrustProblem, onChange, record } = this.#options
    const reason = await findTrustProblem(bytes)
    if (reason !== undefined) return this.#reject(reason)
    if (!this.#apply(bytes)) return this.#reject(this.#issue ?? '')
    record({ type: 'TOOLS_FILE_RELOADED', file: this.#file.path, entries: this.#file.entries.length })
    onChange('rules')
  }

  #onMissing(path: string): void {
    if (this.#bytes !== undefined) this.#reject(`${path} is not there: ${REMOVED}`)
  }

  /** The file is again what is in force. */
  #clearIssue(): void {
    this.#issue = undefined
    this.#lastRejection = ''
  }

  #reject(reason: string): void {
    this.#issue = reason
    if (this.#lastRejection === reason) return
    this.#lastRejection = reason
    const effect = this.#isUsable
      ? 'What it said before stays in force.'
      : 'Nothing can be called until it is corrected.'
    this.#options.onWarning(`tools.yaml is not used: ${reason} ${effect}`)
    this.#options.record({ type: 'TOOLS_FILE_REJECTED', file: this.#file.path, message: reason })
  }

  #parse(bytes: Buffer | undefined): ParseResult {
    return (isSameContent(bytes, this.#bytes) && this.#parsing) || parseToolsBytes(bytes)
  }

  /** Whether it can be used; if so it is in force. */
  #apply(bytes: Buffer, parsing = parseToolsBytes(bytes)): boolean {
    const { path } = this.#file
    const reading = readToolsFile(parsing, path)
    if (!reading.ok) {
      this.#issue = formatIssue(path, reading.issue)
      return false
    }
    this.#bytes = bytes
    this.#parsing = parsing
    this.#file = reading.file
    this.#isUsable = true
    this.#reportWarnings(reading.warnings.map((warning) => formatIssue(path, warning)))
    this.#clearIssue()
    return true
  }

  /** A rule with a slip in its name is not in force: that must not wait until somebody asks. */
  #reportWarnings(oddities: readonly string[]): void {
    const news = oddities.filter((odd) => !this.#warnings.includes(odd))
    this.#warnings = oddities
    for (const odd of news) this.#options.onWarning(odd)
  }

  #warnNotWritten(reasons: readonly string[]): void {
    this.#notWritten = reasons
    if (reasons.length === 0) this.#warnedNotWritten.clear()
    // What is wrong with the file has been told already.
    if (this.#issue !== undefined) return
    for (const reason of reasons) this.#warnOnce(excerpt(reason, MAX_WARNING_LENGTH))
  }

  /** Whoever names tools may never stop: the last that is said of it is where the rest can be read. */
  #warnOnce(reason: string): void {
    const told = this.#warnedNotWritten
    if (told.has(reason) || told.size > MAX_WARNINGS) return
    told.add(reason)
    const said = told.size > MAX_WARNINGS ? 'There are more. `sallyport tools check` names them all.' : reason
    this.#options.onWarning(`New tools are not written down: ${said}`)
  }
}

const MEANWHILE = 'Until then tools without an entry are governed by what their names tell.'
const REMOVED = 'it was removed while the gateway ran. Put it back, or restart the gateway to begin anew'

const emptyFile = (path: string): ParsedToolsFile => ({
  path,
  entries: [],
  categories: new Map(),
  modePolicies: new Map(),
})

const isSameContent = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.equals(b))

/** What the disk refused is a reason to leave the file alone; anything else is what it is. */
function toUnsafeFileError(path: string, error: unknown): unknown {
  const cause = error instanceof SallyportError && error.code === 'STATE_UNUSABLE' ? error.cause : error
  if (cause instanceof SallyportError || causeCode(cause) === '') return error
  return unsafeFileError(path, `it cannot be written: ${describeDiskError(cause)}`)
}

/** Whoever is about to correct a mistake does not find another file on the disk than in the editor. */
function assertValid(parsing: ParseResult, path: string): void {
  const reading = readToolsFile(parsing, path)
  if (!reading.ok)
    throw unsafeFileError(path, `it has a mistake in line ${reading.issue.line}: ${reading.issue.problem}`)
}

const noToolsFileError = (): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', 'This gateway has no tools.yaml that could be changed.', {
    hint: 'Give it a home with one: --home, or `home` of createGateway.',
  })

const unsafeFileError = (path: string, why: string): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', `${path} is left as it is: ${why.replace(/\.$/, '')}.`, {
    hint: 'Put that right, then try again.',
  })

/** tools.yaml as it stands on the disk; where there is none, as if it were empty. */
function parseToolsBytes(bytes: Uint8Array | undefined): ParseResult {
  const text = bytes === undefined ? '' : decodeUtf8(bytes)
  if (text !== undefined) return parseToolsFile(text)
  const source = { text: '', starts: [], indents: [] }
  return { ok: false, source, problem: { offset: 0, problem: 'this is not UTF-8 text.' } }
}

export function readToolsBytes(path: string, bytes: Uint8Array | undefined): ToolsFileResult {
  return readToolsFile(parseToolsBytes(bytes), path)
}

/** A place in the file and what is wrong there, in a form that editors can open. */
export const formatIssue = (path: string, { line, column, problem }: FileIssue): string =>
  `${path}:${line}:${column}: ${problem}`

/** The text of a file, with its byte order mark, which has to stay where it is; nothing if it is not UTF-8. */
function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined
  // A decoder would take two bytes for each letter of it, in every line that is cut out of it.
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
