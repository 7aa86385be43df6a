import {
  addMembers,
  findInexactNumber,
  findJsonValue,
  findMember,
  isJsonDeeperThan,
  isListAt,
  isObjectAt,
  type Json,
  listMembers,
  quoteInexactNumbers,
  readPointer,
  replaceSpan,
  type Span,
} from '@sallyport/core'
import type { OpenFile, WrittenFile } from '../workspace/workspace.ts'
import { makeParent } from './file-connector.ts'
import { readLines } from './file-lines.ts'
import { type JsonMatch, parseJsonPath, queryJson } from './json-query.ts'
import { type ConnectorOptions, checkOffset, clampCount, refusal, withWorkspace } from './with-workspace.ts'

/** Which part of a document is read. */
export interface JsonReadOptions extends ConnectorOptions {
  readonly bigNumbers?: BigNumbers
  /** Where in the document. Default: the whole document. */
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

  /** The values at a JSON path, such as `$.items[*].name`. */
  query: (path: string, jsonPath: string, options: JsonPageOptions = {}): Promise<JsonMatches> =>
    withWorkspace(options, (workspace) =>
      workspace.useFile(path, async (file) => {
        const steps = parseJsonPath(jsonPath)
        const document = parseJson(await readDocument(path, file), path, options.bigNumbers)
        const { values: matches, ...rest } = await takePage(toLazy(queryJson(document, steps)), options)
        return { path, matches, ...rest }
      }),
    ),

  /** Writes the whole document, indented. */
  write: (path: string, value: Json, options: ConnectorOptions = {}): Promise<WrittenFile> =>
    withWorkspace(options, async (workspace) => {
      await makeParent(workspace, path)
      return workspace.writeFile(path, `${JSON.stringify(value, null, 2)}\n`)
    }),

  /** Sets the value at a pointer; the rest of the file stays unchanged. */
  set: (path: string, change: JsonSetting, options: ConnectorOptions = {}): Promise<WrittenFile> =>
    changeDocument(path, options, (text) => setJson(text, change.pointer, change.value)),

  /** Appends items to the array at a pointer. */
  append: (path: string, change: JsonAddition, options: ConnectorOptions = {}): Promise<WrittenFile> =>
    changeDocument(path, options, (text) => appendJson(text, change.pointer, change.values)),

  /** A page of a file with one value per line (NDJSON). */
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
      `${path}: the document has ${file.size} bytes; at most ${MAX_DOCUMENT_BYTES} are read at once. Store large data as JSON lines.`,
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

/** Skipped lines are not parsed. */
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

const MAX_STEPS = 100

/** The steps of a JSON pointer (RFC 6901): `/items/0/name`; the empty one is the whole document. */
function parsePointer(pointer: string): readonly string[] {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer))
    throw refusal(
      `The pointer is ${JSON.stringify(pointer.slice(0, 80))}; expected one such as "/items/0/name", or "".`,
    )
  const steps = readPointer(pointer)
  if (steps.length > MAX_STEPS)
    throw refusal(`The pointer has ${steps.length} steps; at most ${MAX_STEPS} are allowed.`)
  return steps
}

function findValueSpan(text: string, steps: readonly string[]): Span {
  const found = findJsonValue(text, steps)
  if ('problem' in found) throw refusal(found.problem)
  return found
}

/** Sets a value in text that is known to be JSON, and preserves every other character: numbers, order, white space. */
function setJson(text: string, pointer: string, value: Json): string {
  const steps = parsePointer(pointer)
  assertJsonValue(value)
  const container = findValueSpan(text, steps.slice(0, -1))
  const last = steps.at(-1)
  if (last === undefined) return replaceSpan(text, container, JSON.stringify(value))
  if (isObjectAt(text, container.start) && findMember(text, container.start, (key) => key === last) === undefined)
    return addMembers(text, container, { members: [{ key: last, value }] })
  if (isListAt(text, container.start) && isAppendPosition(text, container, last))
    return addMembers(text, container, { members: [{ value }] })
  return replaceSpan(text, findValueSpan(text, steps), JSON.stringify(value))
}

const isAppendPosition = (text: string, { start }: Span, step: string): boolean =>
  step === '-' || step === String([...listMembers(text, start)].length)

/** Appends items to an array in text that is known to be JSON. */
function appendJson(text: string, pointer: string, values: readonly Json[]): string {
  const span = findValueSpan(text, parsePointer(pointer))
  if (!isListAt(text, span.start)) throw refusal(`There is no array at ${JSON.stringify(pointer)}.`)
  values.forEach(assertJsonValue)
  return values.length === 0 ? text : addMembers(text, span, { members: values.map((value) => ({ value })) })
}

function assertJsonValue(value: Json): void {
  if ((JSON.stringify(value) as string | undefined) === undefined)
    throw refusal(`The value is ${typeof value}; expected one that JSON can represent.`)
}

/** `refuse` (default): a number that JavaScript cannot represent exactly is an error. `text`: it is returned as a string. */
export type BigNumbers = 'refuse' | 'text'

/** The error quotes nothing of the text, which may be private. */
function parseJson(text: string, where: string, bigNumbers: BigNumbers = 'refuse'): Json {
  const value = checkJson(text, where)
  const inexact = findInexactNumber(text)
  if (inexact === undefined) return value
  if (bigNumbers === 'text') return JSON.parse(quoteInexactNumbers(text)) as Json
  throw refusal(
    `${where}: the number at line ${lineAt(text, inexact.start)} has more digits than JavaScript can represent. Ask for such numbers as text (bigNumbers: 'text').`,
  )
}

/** Nobody needs deeper documents, and JSON.stringify would exhaust the stack. */
const MAX_DEPTH = 500

/** Parses the text; throws if it is not JSON. */
function checkJson(text: string, where: string): Json {
  if (isJsonDeeperThan(text, MAX_DEPTH)) throw refusal(`${where}: the document is nested deeper than ${MAX_DEPTH}.`)
  return parseText(text, where)
}

function parseText(text: string, where: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    // The engine's message quotes the text, so only the position is used.
    const position = error instanceof Error ? / position (\d+)/.exec(error.message)?.[1] : undefined
    const line = position === undefined ? '' : ` (near line ${lineAt(text, Number(position))})`
    throw refusal(`${where}: this is not JSON${line}.`)
  }
}

const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length
