import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { REPOSITORY } from '../harness/run-gateway.ts'

/** Listens outside of every sandbox: whatever arrives there has left. */
export interface Listener {
  readonly port: number
  arrived(): string
  /** Those that are open now. */
  connections(): number
  close(): Promise<unknown>
}

export async function openListener(): Promise<Listener> {
  let text = ''
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (chunk.startsWith('POST')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    arrived: () => text,
    connections: () => sockets.size,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return once(server.close(), 'close')
    },
  }
}

const FLOODING = join(REPOSITORY, 'tests/fixtures/flooding.mjs')

/** Begins to send without end to the listener, from a process that nothing but its death stops. */
export async function startFlood(
  { port }: Listener,
  run: (command: readonly string[]) => Promise<string>,
): Promise<void> {
  const wait = 'until grep -q connected "$out"; do sleep 0.02; done; rm "$out"'
  const script = `out=$(mktemp); "$0" "$1" "$2" >"$out" 2>&1 & ${wait}`
  const output = await run(['sh', '-c', script, process.execPath, FLOODING, `${port}`])
  if (output !== '') throw new Error(`It could not begin to send: ${output}`)
}

/** When the last line of a flood that has arrived was written. */
export const findLastWritten = ({ arrived }: Listener): bigint =>
  arrived()
    .split('\n')
    .slice(0, -1)
    .reduce((last, line) => (/^\d+$/.test(line) && BigInt(line) > last ? BigInt(line) : last), 0n)
