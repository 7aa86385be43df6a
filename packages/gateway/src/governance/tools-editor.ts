import { isUtf8 } from 'node:buffer'
import { basename, dirname } from 'node:path'
import {
  canonicalName,
  type DiffLine,
  excerpt,
  messageOf,
  type ParsedToolsFile,
  SallyportError,
  type SallyportEvent,
} from '@sallyport/core'
import { diffTexts, hashChange, maxHomeFileBytes, notAsShownError, readHomeFile } from '../config/config.ts'
import {
  causeCode,
  describeDiskError,
  FileWatch,
  isSameContent,
  removeStaleWriterFiles,
  replaceFile,
  resolveLockPath,
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
  setFields,
  type ToolsFileResult,
} from './tools-file/tools-file.ts'

export interface ToolsEditorOptions {
  /** The path of tools.yaml, which may not exist yet. Undefined: there is no file, and none is created. */
  readonly path: string | undefined
  /** The content that was read together with the home. */
  readonly bytes: Buffer | undefined
  /** Why these bytes are not trusted yet; `undefined` if they are trusted. */
  readonly findTrustProblem: (bytes: Buffer) => Promise<string | undefined>
  /** Renews the trust: a file that the gateway itself wrote into a trusted home stays trusted. */
  readonly onWritten: (change: { readonly before: Buffer | undefined; readonly after: Buffer }) => Promise<void>
  /** Called when new content is in force. `entries`: it only adds entries for tools that had none. */
  readonly onChange: (what: ToolsFileChange) => void
  readonly record: (event: SallyportEvent) => void
  readonly onWarning: (text: string) => void
}

export type ToolsFileChange = 'entries' | 'rules'

/** A changed tools.yaml that is not written yet. */
export interface ToolsFileDraft {
  readonly file: ParsedToolsFile
  /** Changes when the file changes, or what would be written. */
  readonly hash: string
  /** The changed lines, with some lines of context. */
  readonly diff: readonly DiffLine[]
  readonly warnings: readonly string[]
}

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

/** If another process writes at the same time, the change is retried this many times. */
const MAX_ATTEMPTS = 20
const MAX_WARNINGS = 100
const MAX_WARNING_LENGTH = 500

/** Reads tools.yaml when it changes, appends entries and changes single values. The last valid content is in force. */
export class ToolsEditor {
  readonly #options: ToolsEditorOptions
  /** The content in force, as bytes and parsed. */
  #bytes: Buffer | undefined
  #parsing: ParseResult | undefined
  #file: ParsedToolsFile
  #isUsable = true
  #issue: string | undefined
  #warnings: readonly string[] = []
  #notWritten: readonly string[] = []
  /** The last reported reason, so that it is reported only once. */
  #lastRejection = ''
  readonly #warnedNotWritten = new Set<string>()
  #watch: FileWatch | undefined
  /** Changes and reads run one after the other. */
  readonly #queue = new SerialQueue()

  constructor(options: ToolsEditorOptions) {
    this.#options = options
    this.#file = emptyFile(options.path ?? 'tools.yaml')
    if (options.bytes !== undefined) this.#isUsable = this.#apply(options.bytes)
  }

  /** The last valid content; empty if there never was any. */
  get file(): ParsedToolsFile {
    return this.#file
  }

  /** Why there is no valid content at all: then every call is refused. */
  get unusableReason(): string | undefined {
    return this.#isUsable ? undefined : this.#issue
  }

  /** Why the file on disk is not in force. */
  get issue(): string | undefined {
    return this.#issue
  }

  /** Warnings about the content in force. */
  get warnings(): readonly string[] {
    return this.#warnings
  }

  /** Why some discovered tools have no entry. */
  get notWritten(): readonly string[] {
    return this.#notWritten
  }

  /** How much of the file the entries of a server use. Entries that only look like its own count too. */
  usageOf(server: string): EntryUsage {
    const { entries } = this.#file
    const prefix = canonicalName({ server, tool: '' })
    const lines = entries.map(({ line }) => line - 1).sort((a, b) => a - b)
    const source = this.#parsing?.ok ? this.#parsing.file.source : undefined
    const sizes = new Map(source && measureLines(source, lines).map((size, at) => [lines[at], size]))
    const own = entries.filter(({ key }) => key.startsWith(prefix))
    return { entries: own.length, bytes: own.reduce((sum, { line }) => sum + (sizes.get(line - 1) ?? 0), 0) }
  }

  /** Starts watching the file. It also removes temporary files of a writer that was killed. */
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

  /** Writes entries for discovered tools, unless that would change what people wrote. */
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

  /** Changes exactly one value on behalf of a person. */
  async set(field: FieldChange): Promise<void> {
    const { path } = this.#options
    if (path === undefined) throw noToolsFileError()
    const change = (parsing: ParseResult): EditResult => setField(parsing, field)
    await this.#queue.run(() => this.#change({ path, kind: 'rules', change }))
  }

  /** Shows what `set` would change in the file now. */
  async preview(change: FieldChange): Promise<LineChange> {
    const { path } = this.#options
    if (path === undefined) throw noToolsFileError()
    const parsing = this.#parse(await readHomeFile(path))
    const changed = setField(parsing, change)
    if (!changed.ok) throw unsafeFileError(path, changed.why)
    const { source } = parsing.ok ? parsing.file : parsing
    return diffLines(path, source.text, changed.text)
  }

  /** What several changes would make of the file. Nothing is written. */
  async draft(changes: readonly FieldChange[]): Promise<ToolsFileDraft> {
    const { path } = this.#options
    if (path === undefined) throw noToolsFileError()
    const parsing = this.#parse(await readHomeFile(path))
    const changed = setFields(parsing, changes)
    if (!changed.ok) throw unsafeFileError(path, changed.why)
    const reading = readToolsFile(changed.parsing, path)
    if (!reading.ok) throw unsafeFileError(path, `it would have an error: ${formatIssue(path, reading.issue)}`)
    const before = textOf(parsing)
    return {
      file: reading.file,
      hash: hashChange(before, changed.text),
      diff: diffTexts(before, changed.text),
      warnings: reading.warnings.map((warning) => formatIssue(path, warning)),
    }
  }

  /** Makes several changes at once, if the result is what the draft with this hash showed. */
  async setAll(changes: readonly FieldChange[], hash: string): Promise<void> {
    const { path } = this.#options
    if (path === undefined) throw noToolsFileError()
    const change = (parsing: ParseResult): EditResult => {
      const changed = setFields(parsing, changes)
      if (changed.ok && hashChange(textOf(parsing), changed.text) !== hash) throw notAsShownError(path)
      return changed
    }
    await this.#queue.run(() => this.#change({ path, kind: 'rules', change }))
  }

  async #change(request: EditRequest): Promise<readonly SkippedEntry[]> {
    const { path } = request
    try {
      return await withLockFile(resolveLockPath(path), async (isHeld) => {
        for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
          const skipped = await this.#tryChange(request, isHeld)
          if (skipped) return skipped
        }
        throw unsafeFileError(path, 'other programs kept changing it while the gateway tried to write it')
      })
    } catch (error) {
      throw toUnsafeFileError(path, error)
    }
  }

  /** Returns `undefined` if another process changed the file first. */
  async #tryChange(
    { path, kind, change }: EditRequest,
    isHeld: () => Promise<boolean>,
  ): Promise<readonly SkippedEntry[] | undefined> {
    const before = await readHomeFile(path)
    // The file may be about to be replaced. Creating a new one now would lose all rules that people wrote.
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
      throw unsafeFileError(path, 'it would become larger than the largest file that is read')
    const isWanted = async (): Promise<boolean> => (await isHeld()) && isSameContent(await readHomeFile(path), before)
    if (!(await replaceFile(path, after, { isWanted }))) return undefined
    await this.#onWritten({ kind, before, after, parsing: changed.parsing })
    return changed.skipped
  }

  /** Another process may already have written the same change, which this process has not read yet. */
  async #catchUp(bytes: Buffer | undefined): Promise<void> {
    if (bytes !== undefined && !isSameContent(bytes, this.#bytes)) await this.#reload(bytes)
  }

  async #onWritten({ kind, before, after, parsing }: WrittenEdit): Promise<void> {
    // If the content before the change was not in force, writing to it must not bring it into force.
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

  /** Brings the content of the file into force if it is trusted and valid. */
  async #reload(bytes: Buffer): Promise<void> {
    const { findTrustProblem, onChange, record } = this.#options
    const reason = await findTrustProblem(bytes)
    if (reason !== undefined) return this.#reject(reason)
    if (!this.#apply(bytes)) return this.#reject(this.#issue ?? '')
    record({ type: 'TOOLS_FILE_RELOADED', file: this.#file.path, entries: this.#file.entries.length })
    onChange('rules')
  }

  #onMissing(path: string): void {
    if (this.#bytes !== undefined) this.#reject(`${path} is missing: ${REMOVED}`)
  }

  /** The file on disk is in force again. */
  #clearIssue(): void {
    this.#issue = undefined
    this.#lastRejection = ''
  }

  #reject(reason: string): void {
    this.#issue = reason
    if (this.#lastRejection === reason) return
    this.#lastRejection = reason
    const effect = this.#isUsable
      ? 'Its previous content stays in force.'
      : 'No tool can be called until it is corrected.'
    this.#options.onWarning(`tools.yaml is not used: ${reason} ${effect}`)
    this.#options.record({ type: 'TOOLS_FILE_REJECTED', file: this.#file.path, message: reason })
  }

  #parse(bytes: Buffer | undefined): ParseResult {
    return (isSameContent(bytes, this.#bytes) && this.#parsing) || parseToolsBytes(bytes)
  }

  /** Brings the content into force. Returns false if it is not valid. */
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

  /** Reports new warnings at once: a rule with a misspelt name is not in force, and people should know that. */
  #reportWarnings(warnings: readonly string[]): void {
    const added = warnings.filter((warning) => !this.#warnings.includes(warning))
    this.#warnings = warnings
    for (const warning of added) this.#options.onWarning(warning)
  }

  #warnNotWritten(reasons: readonly string[]): void {
    this.#notWritten = reasons
    if (reasons.length === 0) this.#warnedNotWritten.clear()
    // The problem of the file itself was already reported.
    if (this.#issue !== undefined) return
    for (const reason of reasons) this.#warnOnce(excerpt(reason, MAX_WARNING_LENGTH))
  }

  /** A server may invent names without end, so warnings are limited. The last one says where to find the rest. */
  #warnOnce(reason: string): void {
    const warned = this.#warnedNotWritten
    if (warned.has(reason) || warned.size > MAX_WARNINGS) return
    warned.add(reason)
    const text = warned.size > MAX_WARNINGS ? 'There are more. `sallyport tools check` lists them all.' : reason
    this.#options.onWarning(`New tools are not written to tools.yaml: ${text}`)
  }
}

const textOf = (parsing: ParseResult): string => (parsing.ok ? parsing.file.source : parsing.source).text

const MEANWHILE = 'Until then, the rules for tools without an entry are inferred from their names.'
const REMOVED =
  'it was removed while the gateway was running. Put it back, or restart the gateway to start with a new one'

const emptyFile = (path: string): ParsedToolsFile => ({
  path,
  entries: [],
  categories: new Map(),
  modePolicies: new Map(),
})

/** Turns a disk error into TOOLS_FILE_UNSAFE. Other errors are returned as they are. */
function toUnsafeFileError(path: string, error: unknown): unknown {
  const cause = error instanceof SallyportError && error.code === 'STATE_UNUSABLE' ? error.cause : error
  if (cause instanceof SallyportError || causeCode(cause) === '') return error
  return unsafeFileError(path, `it cannot be written: ${describeDiskError(cause)}`)
}

/** Refuses to change a file with an error: a person may be editing it, and their editor would show other content than the disk. */
function assertValid(parsing: ParseResult, path: string): void {
  const reading = readToolsFile(parsing, path)
  if (!reading.ok)
    throw unsafeFileError(path, `it has an error in line ${reading.issue.line}: ${reading.issue.problem}`)
}

const noToolsFileError = (): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', 'This gateway has no tools.yaml that can be changed.', {
    hint: 'Give it a home with one: --home, or `home` of createGateway.',
  })

const unsafeFileError = (path: string, why: string): SallyportError =>
  new SallyportError('TOOLS_FILE_UNSAFE', `${path} is left as it is: ${why.replace(/\.$/, '')}.`, {
    hint: 'Correct that, then try again.',
  })

/** Parses the bytes of tools.yaml. A missing file counts as empty. */
function parseToolsBytes(bytes: Uint8Array | undefined): ParseResult {
  const text = bytes === undefined ? '' : decodeUtf8(bytes)
  if (text !== undefined) return parseToolsFile(text)
  const source = { text: '', starts: [], indents: [] }
  return { ok: false, source, problem: { offset: 0, problem: 'this is not UTF-8 text.' } }
}

export function readToolsBytes(path: string, bytes: Uint8Array | undefined): ToolsFileResult {
  return readToolsFile(parseToolsBytes(bytes), path)
}

/** Formats an issue as `path:line:column: problem`, which editors can open. */
export const formatIssue = (path: string, { line, column, problem }: FileIssue): string =>
  `${path}:${line}:${column}: ${problem}`

/** Decodes UTF-8 and keeps the byte order mark, which must stay in the file. Returns `undefined` if it is not UTF-8. */
function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined
  // TextDecoder would return a string with two bytes per character, and so would every line that is cut from it.
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
