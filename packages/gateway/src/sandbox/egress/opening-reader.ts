import type { ConnectionOpening } from '@sallyport/core'

const HANDSHAKE_RECORD = 22
/** The major version of SSL 3.0 and of every TLS. */
const MAJOR_VERSION = 3
const CLIENT_HELLO = 1
const MAX_RECORD_BYTES = 2 ** 14
/** A longer ClientHello is refused: real clients need less than a quarter. */
const MAX_MESSAGE_BYTES = 2 ** 14
const SERVER_NAME = 0
const ENCRYPTED_CLIENT_HELLO = 0xfe0d
const INVALID: ConnectionOpening = { kind: 'invalid TLS' }
const OTHER: ConnectionOpening = { kind: 'other' }

/**
 * Finds out from the first bytes of a client whether it speaks TLS, and to which host (RFC 8446, RFC 6066). A ClientHello
 * may be split over any number of packets and records; each byte is read once.
 */
export class OpeningReader {
  readonly #header: number[] = []
  #isFirstRecord = true
  #leftInRecord = 0
  #message = Buffer.alloc(0)
  #length = 0

  /** `undefined`: more bytes are needed. */
  read(chunk: Buffer): ConnectionOpening | undefined {
    for (let at = 0; at < chunk.length; ) {
      if (this.#leftInRecord === 0) {
        this.#header.push(chunk[at++] as number)
        const problem = this.#readHeader()
        if (problem) return problem
        continue
      }
      const part = chunk.subarray(at, at + this.#leftInRecord)
      // What does not fit is after the message, whose length is checked.
      part.copy(this.#message, this.#length)
      this.#length += part.length
      this.#leftInRecord -= part.length
      at += part.length
      const opening = this.#readMessage()
      if (opening) return opening
    }
    return undefined
  }

  #readHeader(): ConnectionOpening | undefined {
    const [type, major, , high = 0, low] = this.#header
    const isTls = type === HANDSHAKE_RECORD && (major === undefined || major === MAJOR_VERSION)
    if (!isTls) return this.#isFirstRecord ? OTHER : INVALID
    if (low === undefined) return undefined
    const length = high * 256 + low
    if (length === 0 || length > MAX_RECORD_BYTES) return INVALID
    if (this.#isFirstRecord) this.#message = Buffer.alloc(4 + MAX_MESSAGE_BYTES)
    this.#isFirstRecord = false
    this.#header.length = 0
    this.#leftInRecord = length
    return undefined
  }

  #readMessage(): ConnectionOpening | undefined {
    if (this.#message[0] !== CLIENT_HELLO) return INVALID
    if (this.#length < 4) return undefined
    const end = 4 + this.#message.readUIntBE(1, 3)
    if (end > this.#message.length) return INVALID
    return this.#length < end ? undefined : readClientHello(this.#message.subarray(4, end))
  }
}

function readClientHello(body: Buffer): ConnectionOpening {
  const fields = new Fields(body)
  const version = fields.take(2)
  const random = fields.take(32)
  const session = fields.takeVector(1)
  const ciphers = fields.takeVector(2)
  const compression = fields.takeVector(1)
  if (!(version && random && session && ciphers && compression)) return INVALID
  if (fields.isAtEnd) return { kind: 'TLS', serverName: undefined, isNameEncrypted: false }
  const extensions = fields.takeVector(2)
  return extensions !== undefined && fields.isAtEnd ? readExtensions(new Fields(extensions)) : INVALID
}

function readExtensions(fields: Fields): ConnectionOpening {
  const found = new Map<number, Buffer>()
  while (!fields.isAtEnd) {
    const type = fields.take(2)?.readUInt16BE()
    const content = fields.takeVector(2)
    if (type === undefined || content === undefined || found.has(type)) return INVALID
    found.set(type, content)
  }
  const list = found.get(SERVER_NAME)
  const serverName = list && readServerName(list)
  if (list !== undefined && serverName === undefined) return INVALID
  return { kind: 'TLS', serverName, isNameEncrypted: found.has(ENCRYPTED_CLIENT_HELLO) }
}

/** The one host name of the list. A server might choose another one of several. */
function readServerName(list: Buffer): string | undefined {
  const names = new Fields(list).takeVector(2)
  if (names === undefined || names.length + 2 !== list.length) return undefined
  const fields = new Fields(names)
  const type = fields.take(1)?.[0]
  const name = fields.takeVector(2)
  if (type !== 0 || name === undefined || name.length === 0 || !fields.isAtEnd) return undefined
  return name.toString('latin1').toLowerCase().replace(/\.$/, '')
}

/** Reads the fields of a message one after the other; `undefined` if one reaches over the end. */
class Fields {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  take(length: number): Buffer | undefined {
    if (this.#at + length > this.#bytes.length) return undefined
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  /** Bytes with their length before them. */
  takeVector(lengthBytes: number): Buffer | undefined {
    const length = this.take(lengthBytes)?.readUIntBE(0, lengthBytes)
    return length === undefined ? undefined : this.take(length)
  }
}
