import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { EscapeHistory } from './escape-history.ts'

/** `open`: only FULL may reach it; `listed`: PROXIED may, too. */
export type Place = 'open' | 'listed'

/** A listener outside of every sandbox, which notes what arrives before it answers. */
export class Outside {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #history: () => EscapeHistory

  constructor(history: () => EscapeHistory) {
    this.#history = history
    this.#server = createServer((socket) => this.#serve(socket))
  }

  static async open(history: () => EscapeHistory): Promise<Outside> {
    const outside = new Outside(history)
    await once(outside.#server.listen(0, '127.0.0.1'), 'listening')
    return outside
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** What config.yaml lists. In FULL, a name that is not listed leads to the same address. */
  get allow(): readonly string[] {
    return [this.hostOf('listed')]
  }

  hostOf(place: Place): string {
    return `${place === 'open' ? 'localhost' : '127.0.0.1'}:${this.#port}`
  }

  placeOf(host: string): Place {
    return host === this.hostOf('listed') ? 'listed' : 'open'
  }

  /** Resolves when everything has been noted that had arrived before. */
  async settle(): Promise<void> {
    // Loopback delivers at once, and what has been delivered is read before a second new connection has its answer.
    for (let turn = 0; turn < 2; turn++) {
      const socket = connect(this.#port, '127.0.0.1')
      socket.write('ping\n')
      await once(socket, 'data')
      socket.destroy()
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await once(this.#server.close(), 'close')
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setNoDelay()
    let rest = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#read(socket, line)
    })
  }

  #read(socket: Socket, line: string): void {
    if (line === 'ping') return void socket.write('pong')
    if (line.startsWith('POST ')) return void socket.once('sallyport-line', () => socket.end(OK))
    const [word, session = '', server = '', host = '', stamp = '', id = ''] = line.split(' ')
    if (word !== 'out') return
    const history = this.#history()
    history.arrivals.push({ session, server, id, place: this.placeOf(host), stamp: BigInt(stamp), time: history.now() })
    // An answer to a request; in a tunnel it is what the sender waits for.
    if (!socket.emit('sallyport-line')) socket.write(`ok ${id}\n`)
  }
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
