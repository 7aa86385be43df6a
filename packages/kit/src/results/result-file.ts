import { randomBytes } from 'node:crypto'
import type { ContentKind } from '@sallyport/core'

/** The facts about a saved result that its file name contains. There is no other record that could be damaged or lost. */
export interface ResultFile {
  readonly name: string
  readonly handle: string
  readonly created: number
  readonly mimeType: string
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'
const HANDLE_LENGTH = 20
const HANDLE_PATTERN = /^r_[a-z2-7]{20}$/
const FILE_PATTERN = /^(\d{8})-(\d{9})-(?:[a-z0-9_]{1,40}-)?(r_[a-z2-7]{20})\.([a-z0-9]{1,8})$/

/** New files get the first extension of their type. */
const TYPES: readonly (readonly [extension: string, mimeType: string])[] = [
  ['json', 'application/json'],
  ['ndjson', 'application/x-ndjson'],
  ['csv', 'text/csv'],
  ['tsv', 'text/tab-separated-values'],
  ['html', 'text/html'],
  ['xml', 'application/xml'],
  ['md', 'text/markdown'],
  ['yaml', 'application/yaml'],
  ['log', 'text/x-log'],
  ['txt', 'text/plain'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['svg', 'image/svg+xml'],
  ['wav', 'audio/wav'],
  ['mp3', 'audio/mpeg'],
  ['ogg', 'audio/ogg'],
  ['flac', 'audio/flac'],
  ['pdf', 'application/pdf'],
  ['bin', 'application/octet-stream'],
]
const TYPE_BY_EXTENSION: ReadonlyMap<string, string> = new Map(TYPES)
const EXTENSION_BY_TYPE: ReadonlyMap<string, string> = new Map(TYPES.map(([extension, type]) => [type, extension]))

const EXTENSION_BY_KIND: Readonly<Record<ContentKind, string>> = {
  json: 'json',
  ndjson: 'ndjson',
  csv: 'csv',
  tsv: 'tsv',
  html: 'html',
  xml: 'xml',
  markdown: 'md',
  yaml: 'yaml',
  log: 'log',
  text: 'txt',
  binary: 'bin',
}

/** One hundred bits, so that handles cannot be guessed. */
function createHandle(): string {
  const letters = Array.from(randomBytes(HANDLE_LENGTH), (byte) => LETTERS[byte % LETTERS.length])
  return `r_${letters.join('')}`
}

export const isHandle = (value: unknown): value is string => typeof value === 'string' && HANDLE_PATTERN.test(value)

export interface NewResult {
  /** The tool's name; only characters that are safe in a file name are used. */
  readonly tool: string | undefined
  readonly created: number
  readonly extension: string
}

export function createResultFile({ tool, created, extension }: NewResult): ResultFile {
  const handle = createHandle()
  const plain = (tool ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '_')
    .slice(0, 40)
  const stamp = new Date(created)
    .toISOString()
    .replaceAll(/[-:.Z]/g, '')
    .replace('T', '-')
  const name = [stamp, ...(plain === '' ? [] : [plain]), handle].join('-')
  return { name: `${name}.${extension}`, handle, created, mimeType: mimeTypeOf(extension) }
}

/** `undefined` if it is not a saved result: agents may put other files in the same folder. */
export function parseResultFile(name: string): ResultFile | undefined {
  const [, day, time, handle, extension] = FILE_PATTERN.exec(name) ?? []
  if (day === undefined || time === undefined || handle === undefined || extension === undefined) return undefined
  const date = `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`
  const clock = `${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4, 6)}.${time.slice(6)}`
  const created = Date.parse(`${date}T${clock}Z`)
  return Number.isNaN(created) ? undefined : { name, handle, created, mimeType: mimeTypeOf(extension) }
}

export const extensionOfKind = (kind: ContentKind): string => EXTENSION_BY_KIND[kind]

export const extensionOfType = (mimeType: string | undefined): string =>
  EXTENSION_BY_TYPE.get(mimeType?.split(';')[0]?.trim().toLowerCase() ?? '') ?? 'bin'

const mimeTypeOf = (extension: string): string => TYPE_BY_EXTENSION.get(extension) ?? 'application/octet-stream'

/** Whether files of this type are text: the types that we assign, and those that begin with them. */
export const isTextType = (mimeType: string): boolean =>
  mimeType.startsWith('text/') || /^application\/(?:json|x-ndjson|xml|yaml)$/.test(mimeType)
