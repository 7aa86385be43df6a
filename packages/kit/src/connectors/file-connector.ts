import { findPreset, shapeText } from '@sallyport/core'
import type { DirectoryPage, FoundFiles, OpenFile, Page, Workspace, WrittenFile } from '../workspace/workspace.ts'
import { findTailStart, type Line, readLines } from './file-lines.ts'
import { compileSearch, type FoundLines, type LineSearch, searchLines } from './file-search.ts'
import { type ConnectorOptions, checkOffset, clampCount, refusal, withWorkspace } from './with-workspace.ts'

/** A part of a text file. */
export interface TextPage {
  readonly path: string
  readonly text: string
  readonly offset: number
  /** The size of the whole file, in bytes. */
  readonly size: number
  /** The offset of the next page; missing at the end. */
  readonly nextOffset?: number
  /** False if invalid UTF-8 was replaced by U+FFFD, or if a preset shortened the text. */
  readonly isExact: boolean
}

/** The first or last lines of a file. */
export interface Lines {
  readonly path: string
  readonly lines: readonly string[]
  /** Whether these are all lines of the file, not shortened. */
  readonly isWhole: boolean
  /** How many of them were too long and were shortened. */
  readonly cut: number
}

/** Which page of a list is returned. */
export type ListOptions = ConnectorOptions & Page
/** With a preset (`default`, `log_search` …) a long page is shortened to its most informative parts, for a model. */
export type ReadOptions = ConnectorOptions & Page & { readonly preset?: string }
/** How many lines are read. */
export type LineOptions = ConnectorOptions & { readonly lines?: number }
/** Which files a search returns. */
export type FindFileOptions = ConnectorOptions & { readonly glob?: string; readonly limit?: number }

const DEFAULT_PAGE_BYTES = 64 * 1024
const MAX_PAGE_BYTES = 4 * 1024 * 1024
const MAX_LINES = 10_000
const MAX_LINE_BYTES = 8 * 1024
/** The maximum number of bytes that head and tail read; a file with longer lines is not treated as text. */
const MAX_SCANNED_BYTES = 64 * 1024 * 1024
/** The longest UTF-8 sequence. */
const MAX_UTF8_BYTES = 4

/** Text files of the workspace. */
export const FileConnector = {
  /** A page of text, by bytes; characters are not split. */
  read: (path: string, options: ReadOptions = {}): Promise<TextPage> =>
    withWorkspace(options, (workspace) => workspace.useFile(path, (file) => readTextPage(path, file, options))),

  /** The first lines. */
  head: (path: string, options: LineOptions = {}): Promise<Lines> =>
    withWorkspace(options, (workspace) =>
      workspace.useFile(path, (file) => readLinesFrom(path, file, { ...options, from: 0 })),
    ),

  /** The last lines at the time when the file was opened. */
  tail: (path: string, options: LineOptions = {}): Promise<Lines> =>
    withWorkspace(options, (workspace) => workspace.useFile(path, (file) => readTail(path, file, options))),

  /** Writes the whole file; missing directories are created. */
  write: (path: string, text: string, options: ConnectorOptions = {}): Promise<WrittenFile> =>
    withWorkspace(options, async (workspace) => {
      await makeParent(workspace, path)
      return workspace.writeFile(path, text)
    }),

  /** Appends; the file and its directories are created if they are missing. */
  append: (path: string, text: string, options: ConnectorOptions = {}): Promise<WrittenFile> =>
    withWorkspace(options, async (workspace) => {
      await makeParent(workspace, path)
      return workspace.appendFile(path, text)
    }),

  /** Replaces one text by another. */
  edit: (path: string, edit: TextEdit, options: ConnectorOptions = {}): Promise<WrittenFile> =>
    withWorkspace(options, (workspace) => workspace.editFile(path, (text) => applyEdit(text, edit))),

  delete: (path: string, options: ConnectorOptions = {}): Promise<void> =>
    withWorkspace(options, (workspace) => workspace.deleteFile(path)),

  list: (path = '/workspace', options: ListOptions = {}): Promise<DirectoryPage> =>
    withWorkspace(options, (workspace) => workspace.listDirectory(path, pickPage(options))),

  /** Files by name or path, such as `*.csv`. */
  find: (path = '/workspace', options: FindFileOptions = {}): Promise<FoundFiles> =>
    withWorkspace(options, (workspace) => workspace.findFiles(path, options)),

  /** Lines that contain a text, in the files below a directory. */
  search: (path: string, search: LineSearch, options: ConnectorOptions = {}): Promise<FoundLines> =>
    withWorkspace(options, (workspace) => searchLines(workspace, path, search)),
} as const

const pickPage = ({ offset, limit }: Page): Page => ({
  ...(offset === undefined ? {} : { offset }),
  ...(limit === undefined ? {} : { limit }),
})

export async function makeParent(workspace: Workspace, path: string): Promise<void> {
  const slash = path.replace(/\/+$/, '').lastIndexOf('/')
  if (slash > 0) await workspace.makeDirectory(path.slice(0, slash))
}

async function readTextPage(path: string, file: OpenFile, page: ReadOptions): Promise<TextPage> {
  const offset = checkOffset(page.offset ?? 0)
  const limit = Math.max(clampCount('limit', page.limit ?? DEFAULT_PAGE_BYTES, MAX_PAGE_BYTES), MAX_UTF8_BYTES)
  const bytes = await file.read(offset, Math.min(limit, Math.max(0, file.size - offset)))
  const isEnd = offset + bytes.length >= file.size || bytes.length < limit
  const used = isEnd ? bytes : bytes.subarray(0, countCompleteBytes(bytes))
  const whole = used.toString()
  const text = page.preset === undefined ? whole : shapeText(whole, findPreset(page.preset), { name: path }).text
  const nextOffset = isEnd ? {} : { nextOffset: offset + used.length }
  return { path, text, offset, size: file.size, ...nextOffset, isExact: Buffer.from(text).equals(used) }
}

/** Removes an incomplete character at the end. */
function countCompleteBytes(bytes: Buffer): number {
  for (let back = 1; back < MAX_UTF8_BYTES && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte >= 0xc0) return sequenceLength(byte) > back ? bytes.length - back : bytes.length
    if (byte < 0x80) break
  }
  return bytes.length
}

const sequenceLength = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2)

async function readTail(path: string, file: OpenFile, options: LineOptions): Promise<Lines> {
  const wanted = clampCount('lines', options.lines ?? 10, MAX_LINES)
  const from = await findTailStart(file, wanted, MAX_SCANNED_BYTES)
  if (from === undefined)
    throw refusal(`${path}: the last ${wanted} lines are over ${MAX_SCANNED_BYTES} bytes long. Read the file in pages.`)
  return readLinesFrom(path, file, { ...options, from })
}

async function readLinesFrom(path: string, file: OpenFile, options: LineOptions & { from: number }): Promise<Lines> {
  const { from } = options
  const wanted = clampCount('lines', options.lines ?? 10, MAX_LINES)
  const to = Math.min(file.size, from + MAX_SCANNED_BYTES)
  const taken: Line[] = []
  for await (const line of readLines(file, { from, to, lineBytes: MAX_LINE_BYTES })) {
    taken.push(line)
    if (taken.length === wanted) break
  }
  const cut = taken.filter(({ isCut }) => isCut).length
  const end = taken.at(-1)?.end ?? from
  return { path, lines: taken.map(({ text }) => text), isWhole: from === 0 && end >= file.size && cut === 0, cut }
}

/** A replacement of one string by another. */
export interface TextEdit {
  readonly find: string
  readonly replace: string
  /** How many occurrences are expected. Default: `one`. */
  readonly occurrences?: 'one' | 'all'
}

/** A text of this length cannot be written anyway, and JavaScript cannot even build a longer one. */
const MAX_LENGTH = 256 * 1024 * 1024

/** A text that occurs twice is ambiguous: the caller must give more of its context. */
export function applyEdit(text: string, { find, replace, occurrences = 'one' }: TextEdit): string {
  if (find === '') throw refusal('The text to find is empty.')
  const positions = findOccurrences(text, find)
  const { length: count } = positions
  if (count === 0) throw refusal('The text to find is not in the file. Read it, and copy the text exactly.')
  if (count > 1 && occurrences === 'one')
    throw refusal(`The text to find is in the file ${count} times. Give more of its context, or replace all.`)
  const length = text.length + count * (replace.length - find.length)
  if (length > MAX_LENGTH)
    throw refusal(`The file would have ${length} characters; at most ${MAX_LENGTH} are possible.`)
  const parts = positions.map((position, index) =>
    text.slice(index === 0 ? 0 : (positions[index - 1] ?? 0) + find.length, position),
  )
  return [...parts, text.slice((positions.at(-1) ?? 0) + find.length)].join(replace)
}

/** The positions of all occurrences, without overlaps. */
function findOccurrences(text: string, find: string): readonly number[] {
  const findFrom = compileSearch(find)
  const positions: number[] = []
  for (let at = findFrom(text); at >= 0; at = findFrom(text, at + find.length)) positions.push(at)
  return positions
}
