import type { Json } from '@sallyport/core'
import type { OpenFile, WrittenFile } from '../workspace/workspace.ts'
import { makeParent } from './file-connector.ts'
import { readLines } from './file-lines.ts'
import { type JsonMatch, parseJsonPath, queryJson } from './json-query.ts'
import { appendJson, findValueSpan, parsePointer, setJson } from './json-splice.ts'
import { type BigNumbers, checkJson, parseJson } from './json-text.ts'
import { type ConnectorOptions, checkOffset, clampCount, refusal, withWorkspace } from './source.ts'

/** Which part of a document is read. */
export interface JsonReadOptions extends ConnectorOptions {
  readonly bigNumbers?: BigNumbers
  /** Where in the document; the whole of it unless told. */
  readonly pointer?: string
}

/** Which page is read. */
export interface JsonPageOptions extends ConnectorOptions {
  readonly bigNumbers?: BigNumbers
  readonly offset?: number
  readonly limit?: number
}

/** A value to set at a pointer. */
export interface JsonSetting {
  readonly pointer: string
  readonly value: Json
}

/** Values to append to the array at a pointer. */
export interface JsonAddition {
  readonly pointer: string
  readonly values: readonly Json[]
}

/** A page of the values that a query found. */
export interface JsonMatches {
  readonly path: string
  readonly matches: readonly JsonMatch[]
  readonly offset: number
  readonly nextOffset?: number
}

/** A page of a file that has one JSON value per line. */
export interface JsonLines {
  readonly path: string
  readonly values: readonly Json[]
  readonly offset: number
  readonly nextOffset?: number
}

const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
const MAX_LINE_BYTES = 4 * 1024 * 1024
const MAX_PAGE_LENGTH = 16 * 1024 * 1024
const MAX_VALUES = 10_000
const CHUNK_BYTES = 16 * 1024 * 1024

/** JSON documents and JSON lines in files of the workspace. */
export const JsonConnector = {
  /** The document, or the value at a pointer. */
  read: (path: string, options: JsonReadOptions = {}): Promise<Json> =>
    withWorkspace(options, (workspace) =>
      workspace.useFile(path, async (file) => {
        const text = await readDocument(path, file)
        const steps = parsePointer(options.pointer ?? '')
        if (steps.length === 0) return parseJson(text, path, options.bigNumbers)
        checkJson(text, path)
        const { start, end } = findValueSpan(text, steps)
        return parseJson(text.slice(start, end), `${path} ${options.pointer}`, options.bigNumbers)
      }),
    ),

  /** What a JSON path leads to, such as `$.items[*].name`. */
  query: (path: string, jsonPath: string, options: JsonPageOptions = {}): Promise<JsonMatches> =>
    withWorkspace(options, (workspace) =>
      workspace.useFile(path, async (file) => {
        const steps = parseJsonPath(jsonPath)
        const document = parseJson(await readDocument(path, file), path, options.bigNumbers)
        const { values: matches, ...rest } = await takePage(toLazy(queryJson(document, steps)), options)
        return { path, matches, ...rest }
      }),
    ),

  /** The whole document anew, indented. */
  write: (path: string, value: Json, options: ConnectorOptions = {}): Promise<WrittenFile> =>
    withWorkspace(options, async (workspace) => {
      await makeParent(workspace, path)
      return workspace.writeFile(path, `${JSON.stringify(value, null, 2)}\n`)
    }),

  /** Puts a value at a pointer; everything else in the file stays as it is written there. */
  set: (path: string, change: JsonSetting, options: ConnectorOptions = {}): Promise<WrittenFile> =>
    changeDocument(path, options, (text) => setJson(text, change.pointer, change.value)),

  /** Adds items at the end of the array at a pointer. */
  append: (path: string, change: JsonAddition, options: ConnectorOptions = {}): Promise<WrittenFile> =>
    changeDocument(path, options, (text) => appendJson(text, change.pointer, change.values)),

  /** A page of a file with one value on each line (NDJSON). */
  readLines: (path: string, options: JsonPageOptions = {}): Promise<JsonLines> =>
    withWorkspace(options, (workspace) =>
      workspace.useFile(path, async (file) => ({
        path,
        ...(await takePage(parseLines(path, file, options), options)),
      })),
    ),

  appendLines: (path: string, values: readonly Json[], options: ConnectorOptions = {}): Promise<WrittenFile> =>
    withWorkspace(options, async (workspace) => {
      await makeParent(workspace, path)
      return workspace.appendFile(path, values.map((value) => `${JSON.stringify(value)}\n`).join(''))
    }),
} as const

const BOM = '\ufeff'

function changeDocument(
  path: string,
  options: ConnectorOptions,
  change: (text: string) => string,
): Promise<WrittenFile> {
  return withWorkspace(options, (workspace) =>
    workspace.editFile(path, (text) => {
      const mark = text.startsWith(BOM) ? BOM : ''
      const json = text.slice(mark.length)
      checkJson(json, path)
      return mark + change(json)
    }),
  )
}

async function readDocument(path: string, file: OpenFile): Promise<string> {
  if (file.size > MAX_DOCUMENT_BYTES)
    throw refusal(
      `${path}: the document has ${file.size} bytes; at most ${MAX_DOCUMENT_BYTES} are read at once. Keep large data as JSON lines.`,
    )
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  try {
    for (let at = 0; at < file.size; at += CHUNK_BYTES)
      text += decoder.decode(await file.read(at, Math.min(CHUNK_BYTES, file.size - at)), { stream: true })
    return text + decoder.decode()
  } catch (error) {
    if (error instanceof TypeError) throw refusal(`${path}: the file is not UTF-8 text.`)
    throw error
  }
}

async function* parseLines(path: string, file: OpenFile, options: JsonPageOptions): AsyncGenerator<() => Json> {
  for await (const line of readLines(file, { lineBytes: MAX_LINE_BYTES })) {
    if (line.text.trim() === '') continue
    const where = `${path} line ${line.number}`
    if (line.isCut) throw refusal(`${where}: the line is over ${MAX_LINE_BYTES} bytes long.`)
    yield () => parseJson(line.text, where, options.bigNumbers)
  }
}

function* toLazy<Value>(values: Iterable<Value>): Generator<() => Value> {
  for (const value of values) yield () => value
}

/** What is skipped is not parsed. */
async function takePage<Value>(
  values: Iterable<() => Value> | AsyncIterable<() => Value>,
  page: JsonPageOptions,
): Promise<{ values: Value[]; offset: number; nextOffset?: number }> {
  const offset = checkOffset(page.offset ?? 0)
  const limit = clampCount('limit', page.limit ?? 100, MAX_VALUES)
  const taken: Value[] = []
  let [skipped, length] = [0, 0]
  for await (const read of values) {
    if (skipped++ < offset) continue
    if (taken.length === limit || length > MAX_PAGE_LENGTH)
      return { values: taken, offset, nextOffset: offset + taken.length }
    const value = read()
    taken.push(value)
    length += JSON.stringify(value).length
  }
  return { values: taken, offset }
}
