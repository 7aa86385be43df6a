import { createReply } from './reply.mjs'

const NOTHING = Buffer.alloc(0)
/** A stage that needs more bytes. */
const WAIT = -1

/** Reads HTTP/1.1 responses off a socket, one at a time: the cost of a library would be a large part of what we measure. */
export class ResponseReader {
  #stage = this.#readHead
  #rest = NOTHING
  #left = 0
  #complete = false
  #response = emptyResponse()

  /** The reply that this chunk completes, if it does. */
  read(chunk) {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = NOTHING
    for (let at = 0; at < data.length; ) {
      const next = this.#stage(data, at)
      if (next === WAIT) {
        this.#rest = data.subarray(at)
        return undefined
      }
      at = next
      if (this.#complete) return this.#take()
    }
    return undefined
  }

  /** The reply that ends with its connection, having named no length. */
  end() {
    return this.#stage === this.#readUntilClose ? this.#take() : undefined
  }

  #take() {
    const reply = createReply(this.#response)
    this.#stage = this.#readHead
    this.#complete = false
    this.#response = emptyResponse()
    return reply
  }

  #readHead(data, at) {
    const end = data.indexOf('\r\n\r\n', at)
    if (end < 0) return WAIT
    const head = data.toString('latin1', at, end)
    this.#response.head = head
    this.#response.status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    this.#left = Number(length?.[1] ?? 0)
    this.#complete = length ? this.#left === 0 : this.#response.status === 202 || this.#response.status === 204
    if (length) this.#stage = this.#readBody
    else this.#stage = /\r\ntransfer-encoding: *chunked/i.test(head) ? this.#readChunkSize : this.#readUntilClose
    return end + 4
  }

  #readBody(data, at) {
    const next = this.#keep(data, at)
    this.#complete = this.#left === 0
    return next
  }

  #readUntilClose(data, at) {
    this.#left = data.length - at
    return this.#keep(data, at)
  }

  #readChunkSize(data, at) {
    const end = data.indexOf('\r\n', at)
    if (end < 0) return WAIT
    this.#left = Number.parseInt(data.toString('latin1', at, end), 16)
    this.#stage = this.#left === 0 ? this.#readLastBreak : this.#readChunk
    return end + 2
  }

  #readChunk(data, at) {
    const next = this.#keep(data, at)
    if (this.#left === 0) this.#stage = this.#readBreak
    return next
  }

  #readBreak(data, at) {
    if (data.length - at < 2) return WAIT
    this.#stage = this.#readChunkSize
    return at + 2
  }

  #readLastBreak(data, at) {
    if (data.length - at < 2) return WAIT
    this.#complete = true
    return at + 2
  }

  #keep(data, at) {
    const part = data.subarray(at, at + this.#left)
    this.#response.parts.push(part)
    this.#response.bytes += part.length
    this.#left -= part.length
    return at + part.length
  }
}

const emptyResponse = () => ({ status: 0, head: '', parts: [], bytes: 0 })
