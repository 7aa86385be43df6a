import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { SallyportError } from '@sallyport/core'
import { openSocketLocation, requireOwnFolder, type SocketLocation } from './lines/socket-location.ts'
import { sendProblem, toProblem } from './problem.ts'

export { connectSocket } from './lines/socket-location.ts'

/** Protocols to which a connection to the gateway's own socket can be upgraded. */
export const SOCKET_PROTOCOLS = { lines: 'sallyport-lines', port: 'sallyport-port', run: 'sallyport-run' } as const

/** The agent that a window belongs to, as `claude-code` or `claude-code.reviewer`, percent-encoded. */
export const AGENT_HEADER = 'x-sallyport-agent'

export interface GatewaySocketOptions {
  readonly state: string
  /** Why this caller is refused; `undefined` if it is not. */
  readonly checkCaller: (request: IncomingMessage) => SallyportError | undefined
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void
  /** Takes over the connection, after the upgrade was answered. */
  readonly onLines: (stream: Duplex, request: IncomingMessage) => void
  readonly onPort: (stream: Duplex, request: IncomingMessage) => void
  readonly onRun: (stream: Duplex, request: IncomingMessage) => void
}

export interface GatewaySocket {
  close(): Promise<void>
}

/** Only the holder of the state's lock may call this: then an existing socket belongs to a dead gateway. */
export async function openGatewaySocket(options: GatewaySocketOptions): Promise<GatewaySocket> {
  const streams = new Set<Duplex>()
  const server = createServer((request, response) => {
    const refused = options.checkCaller(request)
    if (refused) sendProblem(response, refused)
    else options.onRequest(request, response)
  })
  server.on('upgrade', (request, stream) => {
    stream.on('error', () => stream.destroy())
    streams.add(stream)
    stream.once('close', () => streams.delete(stream))
    upgrade(request, stream, options)
  })
  const location = openSocketLocation(options.state)
  const { path } = location
  const inode = await listenAt(server, location).catch((error: unknown) => {
    location.close()
    throw error
  })
  return {
    close: () =>
      new Promise((resolve) => {
        // The state folder may have been replaced, and then has another gateway's socket.
        if (readInode(path) === inode) rmSync(path, { force: true })
        server.close(() => {
          location.close()
          resolve()
        })
        server.closeAllConnections()
        for (const stream of streams) stream.destroy()
      }),
  }
}

/** Listens under a temporary name and renames it: on close, Node removes the name it listened at, whoever owns it by then. */
async function listenAt(server: Server, location: SocketLocation): Promise<bigint | undefined> {
  prepareFolder(location)
  const { folder, name, path } = location
  const temporary = `${path}.new`
  try {
    rmSync(temporary, { force: true })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // The state folder already keeps other users out; the mode of the socket is a second barrier.
      const mask = process.umask(0o177)
      server.listen(temporary, resolve)
      process.umask(mask)
    })
    renameSync(temporary, path)
    return readInode(path)
  } catch (cause) {
    server.close()
    throw new SallyportError('STATE_UNUSABLE', `Cannot open the socket ${join(folder, name)}.`, {
      hint: 'Choose another state folder with --state.',
      cause,
    })
  }
}

const readInode = (path: string): bigint | undefined => lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino

function upgrade(request: IncomingMessage, stream: Duplex, options: GatewaySocketOptions): void {
  const wanted = request.headers.upgrade
  const take = findUpgradeHandler(wanted, options)
  if (!take)
    return refuseUpgrade(
      stream,
      new SallyportError('INVALID_REQUEST', `This socket does not support the upgrade to ${wanted}.`),
    )
  const refused = options.checkCaller(request)
  if (refused) return refuseUpgrade(stream, refused)
  stream.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${wanted}\r\n\r\n`)
  take(stream, request)
}

function findUpgradeHandler(wanted: string | undefined, { onLines, onPort, onRun }: GatewaySocketOptions) {
  if (wanted === SOCKET_PROTOCOLS.lines) return onLines
  if (wanted === SOCKET_PROTOCOLS.port) return onPort
  return wanted === SOCKET_PROTOCOLS.run ? onRun : undefined
}

/** Like `sendProblem`, for a refused upgrade: Node provides no response object for it. */
function refuseUpgrade(stream: Duplex, error: SallyportError): void {
  const body = JSON.stringify(toProblem(error))
  const { http } = error.kind
  const head = [
    `HTTP/1.1 ${http} ${STATUS_CODES[http]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function prepareFolder({ folder, name }: SocketLocation): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  requireOwnFolder(folder)
  if ((lstatSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700)
  rmSync(join(folder, name), { force: true })
}
