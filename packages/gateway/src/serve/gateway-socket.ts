import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { SallyportError } from '@sallyport/core'

/** What a connection to the gateway's own socket can become, besides HTTP. */
export const SOCKET_PROTOCOLS = { lines: 'sallyport-lines', port: 'sallyport-port' } as const

/** The kernel takes no longer path for a socket (sun_path, with its final NUL). */
const MAX_PATH = 100

/** Where the gateway of a state listens for its own user's programs. */
export function socketPath(state: string): string {
  const path = join(state, 'gateway.sock')
  if (Buffer.byteLength(path) <= MAX_PATH) return path
  const name = createHash('sha256').update(state).digest('hex').slice(0, 16)
  return join(tmpdir(), `sallyport-${process.getuid?.() ?? 0}`, `${name}.sock`)
}

export interface GatewaySocketOptions {
  readonly path: string
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void
  /** Takes the connection over; the answer to the upgrade has been sent. */
  readonly onLines: (stream: Duplex, request: IncomingMessage) => void
  readonly onPort: (stream: Duplex, request: IncomingMessage) => void
}

export interface GatewaySocket {
  close(): Promise<void>
}

/** Only the holder of the state's lock may call this: a socket that is already there is a dead gateway's. */
export async function openGatewaySocket(options: GatewaySocketOptions): Promise<GatewaySocket> {
  const { path } = options
  preparePlace(path)
  const streams = new Set<Duplex>()
  const server = createServer({ requestTimeout: 60_000 }, options.onRequest)
  server.on('upgrade', (request, stream) => {
    const take =
      request.headers.upgrade === SOCKET_PROTOCOLS.lines
        ? options.onLines
        : request.headers.upgrade === SOCKET_PROTOCOLS.port
          ? options.onPort
          : undefined
    if (!take) return void stream.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    streams.add(stream)
    stream.once('close', () => streams.delete(stream))
    stream.on('error', () => stream.destroy())
    stream.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${request.headers.upgrade}\r\n\r\n`,
    )
    take(stream, request)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new SallyportError('STATE_UNUSABLE', `Cannot open the socket ${path}.`, {
          hint: 'Choose another state folder with --state.',
          cause,
        }),
      ),
    )
    // The state folder keeps others out already; the mode says so once more.
    const mask = process.umask(0o177)
    server.listen(path, resolve)
    process.umask(mask)
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
        for (const stream of streams) stream.destroy()
      }),
  }
}

function preparePlace(path: string): void {
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(folder)
  if (process.getuid && uid !== process.getuid()) {
    throw new SallyportError('STATE_UNUSABLE', `${folder} belongs to another user.`, {
      hint: 'Choose a shorter state folder with --state.',
    })
  }
  if ((mode & 0o077) !== 0) chmodSync(folder, 0o700)
  rmSync(path, { force: true })
}
