import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A proxy between clients and a gateway that can cut every connection. */
export interface CuttingProxy {
  readonly port: number
  /** The address of the gateway, once there is one. */
  target: string
  cut(): void
  close(): Promise<void>
}

export interface CuttingProxyOptions {
  /** Receives what the clients send. */
  readonly onSent?: (text: string) => void
}

export async function openCuttingProxy({ onSent }: CuttingProxyOptions = {}): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    if (onSent) near.on('data', (chunk) => onSent(chunk.toString('latin1')))
    const far = connect(Number(new URL(proxy.target).port), '127.0.0.1')
    forward(near, far)
    forward(far, near)
  })
  const forward = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.on('error', () => {}).pipe(to)
    from.once('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    cut()
    await closed
  }
  const proxy: CuttingProxy = { port: (server.address() as { port: number }).port, target: '', cut, close }
  return proxy
}
