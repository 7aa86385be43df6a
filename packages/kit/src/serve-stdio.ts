import type { Readable, Writable } from 'node:stream'
import { TextDecoder } from 'node:util'
import { isJsonDeeperThan } from '@sallyport/core'
import { type Identity, readLocalIdentity } from './identity/identity.ts'
import {
  errorAnswer,
  INVALID_REQUEST,
  MAX_UNPARSED_DEPTH,
  PARSE_ERROR,
  parseMessage,
  type RpcError,
} from './json-rpc.ts'
import { LineReader } from './line-reader.ts'
import type { McpServer } from './mcp-server.ts'
import { watchUnhandledRejections } from './unhandled-rejections.ts'

/** The streams and the limits of a server over standard input and output. */
export interface StdioStreams {
  readonly stdin: Readable
  readonly stdout: Writable
  /** Default: the user who started the process, with one session for its lifetime; nobody if the server has `auth.gateway`. */
  readonly identity?: Identity
  /** A longer line is refused and not buffered. */
  readonly maxMessageBytes?: number
}

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/** Serves one peer over a pair of streams, one message per line, until the input ends. */
export async function serveStdio(server: McpServer, streams: StdioStreams = process): Promise<void> {
  const { stdin, stdout } = streams
  const write = (message: object): void => {
    const wantsMore = stdout.write(`${JSON.stringify(message)}\n`)
    // If a peer does not read its answers, its requests are not read either.
    if (!wantsMore && !stdin.isPaused()) {
      stdin.pause()
      stdout.once('drain', () => stdin.resume())
    }
  }
  const identity = streams.identity ?? (server.takesCallers ? undefined : readLocalIdentity(server.environment))
  const connection = server.connect(write, identity && { identity })
  const limit = streams.maxMessageBytes ?? MAX_MESSAGE_BYTES
  const take = (line: ParsedLine | undefined): void => {
    if (line === undefined) return
    if ('error' in line) write({ jsonrpc: '2.0', id: null, error: line.error })
    else connection.receive(line.message)
  }
  const lines = new LineReader({
    limit,
    onLine: (line) => take(parseLine(line)),
    onOversized: () => take(errorAnswer(INVALID_REQUEST, `A message is over the limit of ${limit} bytes.`)),
  })
  const feed = (chunk: Buffer | string): void => lines.feed(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
  const unwatch = watchUnhandledRejections((error) => server.reportBug('work that no handler awaited', error))
  stdin.on('data', feed)
  await waitForEnd(stdin, stdout)
  unwatch()
  connection.close()
  // If the output ended first, a paused input must not keep the process alive.
  stdin.off('data', feed).pause()
}

/** A stdio peer leaves by closing a pipe, in either direction. */
function waitForEnd(stdin: Readable, stdout: Writable): Promise<void> {
  return new Promise((resolve) => {
    stdin
      .once('end', resolve)
      .once('close', resolve)
      .once('error', () => resolve())
    stdout.once('close', resolve).on('error', () => resolve())
  })
}

type ParsedLine = { readonly message: unknown } | { readonly error: RpcError }

/** `undefined` if the line is blank. */
function parseLine(line: Buffer): ParsedLine | undefined {
  try {
    // The decoder removes a BOM and throws on invalid UTF-8.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(line)
    if (isJsonDeeperThan(text, MAX_UNPARSED_DEPTH))
      return errorAnswer(INVALID_REQUEST, `A message is nested deeper than ${MAX_UNPARSED_DEPTH} levels.`)
    return text.trim() === '' ? undefined : parseMessage(text)
  } catch {
    return errorAnswer(PARSE_ERROR, 'A line is not JSON in UTF-8.')
  }
}
