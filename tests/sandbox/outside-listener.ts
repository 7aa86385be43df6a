import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** Listens outside of every sandbox: whatever arrives there has left. */
export interface Listener {
  readonly port: number
  arrived(): string
  close(): Promise<unknown>
}

export async function openListener(): Promise<Listener> {
  let text = ''
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
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
    close: () => {
      for (const socket of sockets) socket.destroy()
      return once(server.close(), 'close')
    },
  }
}
