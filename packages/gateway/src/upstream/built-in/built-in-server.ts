import type { CompilePattern } from '@sallyport/core'
import { BUILT_IN_SERVER } from '@sallyport/core'
import {
  type Bug,
  createMcpServer,
  currentWorkspace,
  type McpServer,
  offerResults,
  READ,
  type ResultShelf,
} from '@sallyport/kit'
import { readFilePage } from './file-page.ts'
import { measureSystem } from './system-metrics.ts'

export interface BuiltInOptions {
  /** Below it lie the workspaces of sessions, which each sees as /workspace. */
  readonly dataFolder: string
  /** Compiles patterns that cannot take long, whatever they are matched with; absent: none are taken. */
  readonly compilePattern?: CompilePattern
  readonly version: string
  /** The saved results of the session that calls; absent: those in its workspace. */
  readonly shelf?: () => ResultShelf
  /** Absent: standard error. */
  readonly onBug?: (bug: Bug) => void
}

/** By which agents read what was saved of their results. */
export const READ_RESULT = 'read_result'

const PAGE_BYTES = 64 * 1024
const MAX_PAGE_BYTES = 1024 * 1024
const PAGE_ENTRIES = 200
const MAX_PAGE_ENTRIES = 1_000

/** The gateway's own tools. Embedders add theirs with `.tool(…)`, before or after it is connected. */
export function createBuiltInServer({ compilePattern, shelf, ...options }: BuiltInOptions): McpServer {
  const server = createMcpServer(BUILT_IN_SERVER, { title: 'Sallyport', ...options })
  offerResults(server, {
    name: READ_RESULT,
    ...(compilePattern && { compile: compilePattern }),
    ...(shelf && { shelf }),
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

/** A page of nothing would make an agent ask for ever; a page of everything would fill its context. */
const bounded = (limit: number, most: number): number => Math.min(Math.max(limit, 1), most)
