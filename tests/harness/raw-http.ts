import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

interface Head {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly bodyAt: number
}

/** A connection that sends exactly what it is given: HTTP clients would correct what these tests send. */
export class RawConnection {
  readonly socket: Socket
  readonly closed: Promise<unknown>
  #received = Buffer.alloc(0)
  #isClosed = false

  /** For a socket that is connected already; see `open`. */
  constructor(socket: Socket) {
    this.socket = socket
    this.closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
    })
    socket.once('close', () => {
      this.#isClosed = true
    })
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  get received(): string {
    return this.#received.toString('latin1')
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  send(text: string | Buffer): void {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text)
  }

  /** The next whole answer, taken off what has been received. */
  async answer(): Promise<RawAnswer> {
    for (;;) {
      const answer = this.#take()
      if (answer) return answer
      if (this.#isClosed) throw new Error(`The connection closed before a whole answer: ${this.received.slice(0, 500)}`)
      await this.#news()
    }
  }

  /** Waits until this text has come, whatever else has. */
  async sees(text: string): Promise<void> {
    while (!this.received.includes(text)) {
      if (this.#isClosed) throw new Error(`The connection closed before ${text} came: ${this.received.slice(0, 500)}`)
      await this.#news()
    }
  }

  drop(): void {
    this.socket.destroy()
  }

  #news(): Promise<unknown> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.socket.off('data', wake).off('close', wake)
        resolve(undefined)
      }
      this.socket.on('data', wake).on('close', wake)
    })
  }

  #take(): RawAnswer | undefined {
    const head = headOf(this.#received)
    if (!head) return undefined
    const end = this.#endOf(head)
    if (end === undefined) return undefined
    const body = this.#received.toString('utf8', head.bodyAt, end)
    this.#received = this.#received.subarray(end)
    return { status: head.status, headers: head.headers, body }
  }

  #endOf({ status, headers, bodyAt }: Head): number | undefined {
    if (status === 100 || status === 204) return bodyAt
    const length = headers.get('content-length')
    if (length !== undefined)
      return this.#received.length >= bodyAt + Number(length) ? bodyAt + Number(length) : undefined
    if (headers.get('transfer-encoding') !== 'chunked') return this.#isClosed ? this.#received.length : undefined
    const last = this.#received.indexOf('\r\n0\r\n\r\n', bodyAt - 2)
    return last < 0 ? undefined : last + 7
  }
}

function headOf(bytes: Buffer): Head | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  return { status: Number(first.split(' ')[1]), headers, bodyAt: end + 4 }
}

export interface RawRequest {
  readonly verb?: string
  readonly target?: string
  readonly version?: string
  /** Undefined leaves one of the usual headers out. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Further header lines, as they are. */
  readonly lines?: readonly string[]
  readonly body?: string
}

/** The text of a request for a gateway, with the usual values by default. */
export function rawRequest(url: string, request: RawRequest = {}): string {
  const { verb = 'POST', target = '/mcp', version = '1.1', lines = [], body = '' } = request
  const headers = {
    host: new URL(url).host,
    ...(verb === 'POST' && {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': String(Buffer.byteLength(body, 'latin1')),
    }),
    ...request.headers,
  }
  const usual = Object.entries(headers)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}`)
  return [`${verb} ${target} HTTP/${version}`, ...usual, ...lines, '', body].join('\r\n')
}

/** Sends a text on a connection of its own and waits for the first answer. */
export async function say(url: string, text: string | Buffer): Promise<RawAnswer> {
  const connection = await RawConnection.open(url)
  try {
    connection.send(text)
    return await connection.answer()
  } finally {
    connection.drop()
  }
}
