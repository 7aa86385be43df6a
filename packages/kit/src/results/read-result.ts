import { type CompilePattern, type PageRange, type PageRequest, pageText } from '@sallyport/core'
import { ToolRetryError } from '../tool-error.ts'
import { isHandle, isTextType } from './result-file.ts'
import type { ResultStore, SavedResult } from './result-store.ts'

/** The arguments of a tool that reads saved results, for its definition. */
export const READ_RESULT_INPUT = {
  type: 'object',
  properties: {
    handle: { type: 'string', description: 'The handle in the preview of the result: r_…' },
    offset: { type: 'integer', description: 'Read from this character, counted from 0' },
    limit: { type: 'integer', description: 'With offset: how many characters' },
    lines: { type: 'string', description: 'Read these lines, counted from 1: "100-150"' },
    rows: {
      type: 'string',
      description: 'Read these rows of CSV, JSON lines or a JSON array, counted from 1: "20-40"',
    },
    path: { type: 'string', description: 'Read the value at this path of JSON: "/items/0/name" or "$.items[0].name"' },
    grep: { type: 'string', description: 'Find the lines that contain this text' },
    pattern: { type: 'string', description: 'Find the lines that match this regular expression' },
    from: { type: 'integer', description: 'With grep or pattern: begin at this line' },
  },
  required: ['handle'],
  additionalProperties: false,
} as const

/** Which part of a saved result is read: a range of characters, lines or rows, a path, or the lines that match. */
export interface ReadResultArguments {
  readonly handle: string
  readonly offset?: number | undefined
  readonly limit?: number | undefined
  readonly lines?: string | undefined
  readonly rows?: string | undefined
  readonly path?: string | undefined
  readonly grep?: string | undefined
  readonly pattern?: string | undefined
  readonly from?: number | undefined
}

/** The limits of reading a saved result. */
export interface ReadResultOptions {
  /** Compiles regular expressions that are safe to run. If missing, only plain text can be searched. */
  readonly compile?: CompilePattern
  /** The maximum number of characters of a page, without its first line. */
  readonly maxLength?: number
}

const DEFAULT_MAX_CHARACTERS = 4_000
const MAX_ARGUMENT_LENGTH = 500
const SELECTORS = ['offset', 'lines', 'rows', 'path', 'grep', 'pattern'] as const

/** Returns one page of a saved result, and the arguments for the next page. */
export async function readResult(
  store: ResultStore,
  args: ReadResultArguments,
  { compile, maxLength = DEFAULT_MAX_CHARACTERS }: ReadResultOptions = {},
): Promise<string> {
  const request = parseRequest(args, compile)
  const found = isHandle(args.handle) ? await store.read(args.handle) : undefined
  // The answer is the same for a result of another session, a deleted one and one that never existed.
  if (found === undefined)
    throw new ToolRetryError(
      'There is no such result in this session. Each server stores the results of its own tools, for some days: use the reader of that server, or call the tool again.',
    )
  const { saved, bytes } = found
  if (!isTextType(saved.mimeType))
    return `[${saved.path} is ${saved.mimeType} of ${saved.size} bytes, which cannot be shown as text.]`
  const page = pageText(bytes.toString('utf8'), request, { maxLength, mimeType: saved.mimeType })
  if ('problem' in page) throw new ToolRetryError(page.problem)
  return `[${page.summary} ${formatNext(saved, args, page.next)}]\n${page.text}`
}

/** Formats the arguments for the next page, so that they can be copied. */
function formatNext({ handle }: SavedResult, args: ReadResultArguments, next: object | undefined): string {
  if (next === undefined) return 'This is the end.'
  const search =
    'from' in next ? { ...(args.grep === undefined ? { pattern: args.pattern } : { grep: args.grep }) } : {}
  const position = Object.entries(next).map(([key, value]) => [
    key,
    isRange(value) ? `${value.from}-${value.to}` : value,
  ])
  return `Next: this tool with ${JSON.stringify({ handle, ...search, ...Object.fromEntries(position) })}`
}

const isRange = (value: unknown): value is PageRange => typeof value === 'object' && value !== null && 'to' in value

function parseRequest(args: ReadResultArguments, compile: CompilePattern | undefined): PageRequest {
  checkLengths(args)
  const given = SELECTORS.filter((way) => args[way] !== undefined)
  // `path` and `offset` can be combined, to read a long string value in parts.
  const [way, ...others] =
    given.length === 2 && given.includes('path') ? given.filter((name) => name !== 'offset') : given
  if (others.length > 0) throw new ToolRetryError(`Give one of ${given.join(', ')}, not several.`)
  switch (way) {
    case 'lines':
    case 'rows':
      return { [way]: parseRange(way, args[way] ?? '') } as PageRequest
    case 'path':
      return { path: args.path ?? '', offset: checkWholeNumber('offset', args.offset ?? 0) }
    case 'grep':
      return { grep: args.grep ?? '', from: checkWholeNumber('from', args.from ?? 1) }
    case 'pattern':
      return { grep: compileGrep(args.pattern ?? '', compile), from: checkWholeNumber('from', args.from ?? 1) }
    default:
      return {
        offset: checkWholeNumber('offset', args.offset ?? 0),
        ...(args.limit === undefined ? {} : { limit: checkWholeNumber('limit', args.limit) }),
      }
  }
}

/** Long arguments are refused, because they are repeated in the arguments for the next page. */
function checkLengths(args: ReadResultArguments): void {
  for (const [name, value] of Object.entries(args))
    if (typeof value === 'string' && value.length > MAX_ARGUMENT_LENGTH)
      throw new ToolRetryError(`${name} has ${value.length} characters; at most ${MAX_ARGUMENT_LENGTH} are allowed.`)
}

function parseRange(name: string, written: string): PageRange {
  const [, first = '', dash, last] = /^\s*(\d{1,15})\s*(?:(-)\s*(\d{1,15})?)?\s*$/.exec(written) ?? []
  const from = Number(first)
  const to = dash === undefined ? from : last === undefined ? Number.MAX_SAFE_INTEGER : Number(last)
  if (first === '' || from < 1 || to < from)
    throw new ToolRetryError(
      `${name} is ${JSON.stringify(written.slice(0, 60))}; expected two numbers such as "100-150".`,
    )
  return { from, to }
}

function checkWholeNumber(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new ToolRetryError(`${name} is ${value}; expected a whole number from 0.`)
}

function compileGrep(pattern: string, compile: CompilePattern | undefined) {
  if (compile === undefined) throw new ToolRetryError('Patterns are not supported here: give plain text as grep.')
  const found = compile(pattern)
  if ('problem' in found) throw new ToolRetryError(`The pattern cannot be used: ${found.problem}`)
  return found
}
