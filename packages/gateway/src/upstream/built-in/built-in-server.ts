import { isUtf8 } from 'node:buffer'
import { availableParallelism, freemem, loadavg, totalmem, uptime } from 'node:os'
import { BUILT_IN_SERVER, type CompilePattern } from '@sallyport/core'
import {
  type Bug,
  createMcpServer,
  currentWorkspace,
  type McpServer,
  offerResults,
  READ,
  type ResultStore,
  type SessionKeys,
  ToolRetryError,
  textContent,
  toolResult,
  type WholeResult,
  type Workspace,
} from '@sallyport/kit'

export interface BuiltInOptions {
  /** Contains the workspaces of sessions; each session sees its own as /workspace. */
  readonly dataFolder: string
  /** With which saved results are encrypted. */
  readonly sessionKeys?: SessionKeys
  /** Compiles patterns that match in linear time; if missing, no patterns are accepted. */
  readonly compilePattern?: CompilePattern
  readonly version: string
  /** The saved results of the calling session; if missing, those in its workspace. */
  readonly resultStore?: () => ResultStore
  /** If missing, standard error is used. */
  readonly onBug?: (bug: Bug) => void
}

/** The tools with which agents read their saved results. */
export const READ_RESULT = 'read_result'

const PAGE_BYTES = 64 * 1024
const MAX_PAGE_BYTES = 1024 * 1024
const PAGE_ENTRIES = 200
const MAX_PAGE_ENTRIES = 1_000

/** The gateway's own tools. Embedders add theirs with `.tool(…)`, before or after it is connected. */
export function createBuiltInServer({ compilePattern, resultStore, ...options }: BuiltInOptions): McpServer {
  const server = createMcpServer(BUILT_IN_SERVER, { title: 'Sallyport', ...options })
  offerResults(server, {
    name: READ_RESULT,
    ...(compilePattern && { compile: compilePattern }),
    ...(resultStore && { store: resultStore }),
  })
  addReadFile(server)
  addListDirectory(server)
  server.tool(
    'system_metrics_snapshot',
    {
      title: 'System metrics',
      description: 'Load, memory and uptime of the machine and of the gateway process, at this moment.',
      permission: READ,
    },
    () => measureSystem(),
  )
  return server
}

function addReadFile(server: McpServer): void {
  server.tool(
    'read_file',
    {
      title: 'Read file',
      description:
        'Read a text file or an image of the workspace. A long text comes in pages: when there is more, the result ends ' +
        'with the offset to continue from.',
      permission: READ,
      input: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Such as /workspace/notes.txt' },
          offset: { type: 'integer', minimum: 0, description: 'The byte to begin at (0)' },
          limit: {
            type: 'integer',
            minimum: 1,
            maximum: MAX_PAGE_BYTES,
            description: `The most bytes to return (${PAGE_BYTES})`,
          },
        },
        required: ['path'],
        additionalProperties: false,
      },
    },
    ({ path, offset, limit }) =>
      readFilePage(currentWorkspace(), path, {
        offset: offset ?? 0,
        limit: bounded(limit ?? PAGE_BYTES, MAX_PAGE_BYTES),
      }),
  )
}

function addListDirectory(server: McpServer): void {
  server.tool(
    'list_directory',
    {
      title: 'List directory',
      description:
        'List a directory of the workspace by name, with the kind of each entry and the size of files in bytes. A long ' +
        'list comes in pages: next_offset is there when there is more.',
      permission: READ,
      input: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Such as /workspace (which it is unless given)' },
          offset: { type: 'integer', minimum: 0, description: 'How many entries to skip (0)' },
          limit: {
            type: 'integer',
            minimum: 1,
            maximum: MAX_PAGE_ENTRIES,
            description: `The most entries to return (${PAGE_ENTRIES})`,
          },
        },
        additionalProperties: false,
      },
    },
    async ({ path = '/workspace', offset = 0, limit = PAGE_ENTRIES }) => {
      const most = bounded(limit, MAX_PAGE_ENTRIES)
      const { entries, total, overfull } = await currentWorkspace().listDirectory(path, { offset, limit: most })
      const next = offset + most
      return {
        path,
        entries,
        total,
        ...(next < total ? { next_offset: next } : {}),
        ...(overfull ? { note: `The directory has more than ${total} entries; the others are not listed.` } : {}),
      }
    },
  )
}

/** An empty page would make an agent ask forever; an unlimited one would fill its context. */
const bounded = (limit: number, max: number): number => Math.min(Math.max(limit, 1), max)

interface SystemMetrics {
  readonly time: string
  readonly cpus: number
  /** Over 1, 5 and 15 minutes. */
  readonly load_average: readonly number[]
  readonly memory: { readonly total_bytes: number; readonly available_bytes: number }
  readonly uptime_seconds: number
  readonly gateway: {
    readonly uptime_seconds: number
    readonly rss_bytes: number
    readonly heap_used_bytes: number
    readonly cpu_seconds: number
  }
}

/** Numbers only: nothing here names the machine, its users or its files. */
function measureSystem(): SystemMetrics {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  return {
    time: new Date().toISOString(),
    cpus: availableParallelism(),
    load_average: loadavg().map((load) => Math.round(load * 100) / 100),
    memory: { total_bytes: totalmem(), available_bytes: freemem() },
    uptime_seconds: Math.round(uptime()),
    gateway: {
      uptime_seconds: Math.round(process.uptime()),
      rss_bytes: rss,
      heap_used_bytes: heapUsed,
      cpu_seconds: (user + system) / 1_000_000,
    },
  }
}

interface Page {
  readonly offset: number
  readonly limit: number
}

/** In UTF-8 bytes. A page holds at least one character, or it would never make progress. */
const MAX_CHARACTER_BYTES = 4
const MAX_IMAGE_BYTES = 4 * 1024 * 1024

/** Images that models can read, by their first bytes in hexadecimal. */
const IMAGES: readonly { readonly mimeType: string; readonly begins: RegExp }[] = [
  { mimeType: 'image/png', begins: /^89504e470d0a1a0a/ },
  { mimeType: 'image/jpeg', begins: /^ffd8ff/ },
  { mimeType: 'image/gif', begins: /^47494638(37|39)61/ },
  { mimeType: 'image/webp', begins: /^52494646.{8}57454250/ },
]

/** A page of a text, a whole image, or an error that says why it is neither. */
async function readFilePage(workspace: Workspace, path: string, { offset, limit }: Page): Promise<WholeResult> {
  const { bytes, size } = await workspace.readFile(path, { offset, limit: Math.max(limit, MAX_CHARACTER_BYTES) })
  if (offset > size) throw new ToolRetryError(`${path}: the offset ${offset} is beyond its end; it has ${size} bytes.`)
  const begin = offset === 0 ? 0 : countContinuations(bytes)
  const text = takeText(bytes.subarray(begin), offset + bytes.length < size ? MAX_CHARACTER_BYTES - 1 : 0)
  if (text !== undefined) return textPage(text, { offset: offset + begin, size })
  const image = offset === 0 ? await readImage(workspace, path, bytes) : undefined
  if (image !== undefined) return image
  throw new ToolRetryError(`${path}: not text in UTF-8 (${size} bytes). This tool reads texts and images.`)
}

function textPage(text: Buffer, { offset, size }: { readonly offset: number; readonly size: number }): WholeResult {
  const content = [textContent(text.toString('utf8'))]
  const next = offset + text.length
  if (next < size)
    content.push(textContent(`[To byte ${next} of ${size}. There is more: continue with offset ${next}.]`))
  return toolResult({ content })
}

/** The bytes as text. A page may end up to `slack` bytes early, inside a character. */
function takeText(bytes: Buffer, slack: number): Buffer | undefined {
  if (bytes.includes(0)) return undefined
  for (let cut = 0; cut <= slack; cut++) {
    const text = bytes.subarray(0, bytes.length - cut)
    if (isUtf8(text)) return text
  }
  return undefined
}

/** How many bytes at the beginning belong to a character that began before them. */
function countContinuations(bytes: Buffer): number {
  const begin = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
  return begin < MAX_CHARACTER_BYTES ? Math.max(begin, 0) : 0
}

async function readImage(workspace: Workspace, path: string, head: Buffer): Promise<WholeResult | undefined> {
  const beginning = head.subarray(0, 16).toString('hex')
  const image = IMAGES.find(({ begins }) => begins.test(beginning))
  if (image === undefined) return undefined
  const { bytes, size } = await workspace.readFile(path, { limit: MAX_IMAGE_BYTES })
  if (size > MAX_IMAGE_BYTES)
    throw new ToolRetryError(`${path}: an image of ${size} bytes; at most ${MAX_IMAGE_BYTES} can be shown.`)
  return toolResult({ content: [{ type: 'image', data: bytes.toString('base64'), mimeType: image.mimeType }] })
}
