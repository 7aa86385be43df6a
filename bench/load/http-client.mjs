import { connect } from 'node:net'
import { HttpConnection } from './http-connection.mjs'
import { INITIALIZED, nextId, PROTOCOL_VERSION, prepareInitialize, prepareRequest, printRequest } from './request.mjs'

const STREAM_TIMEOUT_MS = 3_000

/** A caller over Streamable HTTP, of either era, with as many connections as requests in flight. */
export class HttpClient {
  #url
  #era
  #own
  #session = ''
  #idle = []
  #all = new Set()
  #streams = new Set()
  #heads = new WeakMap()

  constructor(url, era, headers = {}) {
    this.#url = new URL(url)
    this.#era = era
    this.#own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  }

  /** Opens a session; the modern era has none. */
  async open() {
    if (this.#era === 'modern') return
    const reply = await this.send(prepareInitialize())
    if (reply.status !== 200) throw new Error(`initialize: HTTP ${reply.status}: ${reply.text().slice(0, 200)}`)
    this.#session = /\r\nmcp-session-id: *([^\r]+)/i.exec(reply.head)?.[1] ?? ''
    await this.#exchange(this.#head({ method: 'notifications/initialized', length: INITIALIZED.length }) + INITIALIZED)
  }

  send(request) {
    const head = this.#heads.get(request) ?? this.#remember(request)
    return this.#exchange(head + printRequest(request.tail, nextId()))
  }

  call(method, params) {
    return this.send(prepareRequest(this.#era, method, params))
  }

  /** Opens the stream on which a legacy server sends notifications and requests; resolves with its status. */
  openStream() {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port), noDelay: true })
      this.#streams.add(socket)
      const timeout = setTimeout(() => resolve(0), STREAM_TIMEOUT_MS)
      socket.once('data', (head) => resolve(Number(head.toString('latin1', 9, 12))))
      socket.once('error', reject)
      socket.once('data', () => clearTimeout(timeout))
      socket.write(this.#print('GET', ['accept: text/event-stream\r\n']))
    })
  }

  /** Ends the session, as a well-behaved client does. */
  async endSession() {
    await this.#exchange(this.#print('DELETE', []))
  }

  /** Closes the connections; the session stays. */
  close() {
    for (const connection of this.#all) connection.close()
    for (const stream of this.#streams) stream.destroy()
    this.#all.clear()
    this.#streams.clear()
    this.#idle = []
  }

  async #exchange(text) {
    const connection = this.#idle.pop() ?? new HttpConnection(this.#url)
    this.#all.add(connection)
    try {
      return await connection.send(text)
    } finally {
      this.#idle.push(connection)
    }
  }

  #remember(request) {
    const head = this.#head(request)
    if (this.#session !== '' || this.#era === 'modern') this.#heads.set(request, head)
    return head
  }

  #head({ method, name = undefined, length }) {
    const modern = [`mcp-method: ${method}\r\n`, name === undefined ? '' : `mcp-name: ${name}\r\n`]
    return this.#print('POST', [
      'content-type: application/json\r\n',
      'accept: application/json, text/event-stream\r\n',
      `content-length: ${length}\r\n`,
      ...(this.#era === 'modern' ? modern : []),
    ])
  }

  #print(verb, headers) {
    const version = this.#era === 'modern' || this.#session !== '' ? PROTOCOL_VERSION[this.#era] : undefined
    return [
      `${verb} ${this.#url.pathname} HTTP/1.1\r\nhost: ${this.#url.host}\r\n`,
      ...headers,
      version === undefined ? '' : `mcp-protocol-version: ${version}\r\n`,
      this.#session === '' ? '' : `mcp-session-id: ${this.#session}\r\n`,
      ...this.#own,
      '\r\n',
    ].join('')
  }
}
