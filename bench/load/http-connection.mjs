import { connect } from 'node:net'
import { ResponseReader } from './response-reader.mjs'

/** One connection that is kept alive and carries one request at a time; it comes back by itself when it was closed. */
export class HttpConnection {
  #url
  #socket
  #waiting

  constructor(url) {
    this.#url = url
  }

  send(text) {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket ??= this.#open()
      this.#socket.write(text)
    })
  }

  close() {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #open() {
    const reader = new ResponseReader()
    const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port), noDelay: true })
    socket.on('data', (chunk) => this.#settle(reader.read(chunk)))
    socket.on('error', (error) => this.#lose(socket, error))
    socket.on('close', () => {
      this.#settle(reader.end())
      this.#lose(socket, new Error('the connection was closed before the answer was whole'))
    })
    return socket
  }

  #settle(reply) {
    if (reply === undefined) return
    if (/\r\nconnection: close/i.test(reply.head)) this.close()
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve(reply)
  }

  #lose(socket, error) {
    if (this.#socket !== socket && this.#socket !== undefined) return
    this.#socket = undefined
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.reject(error)
  }
}
