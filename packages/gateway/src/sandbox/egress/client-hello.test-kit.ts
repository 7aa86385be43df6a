import { Duplex } from 'node:stream'
import { connect } from 'node:tls'

/** The ClientHello that Node sends for this host. */
export function recordClientHello(servername: string | undefined): Promise<Buffer> {
  return new Promise((resolve) => {
    const transport = new Duplex({ read() {}, write: (chunk: Buffer) => resolve(chunk) })
    connect({ socket: transport, ...(servername === undefined ? {} : { servername }) })
  })
}

export const vector = (lengthBytes: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts)
  const length = Buffer.alloc(lengthBytes)
  length.writeUIntBE(content.length, 0, lengthBytes)
  return Buffer.concat([length, content])
}

const number16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])

export const extension = (type: number, content: Buffer): Buffer => Buffer.concat([number16(type), vector(2, content)])

export const nameEntry = (name: string, type = 0): Buffer =>
  Buffer.concat([Buffer.from([type]), vector(2, Buffer.from(name, 'latin1'))])

export const serverNames = (...entries: readonly Buffer[]): Buffer => extension(0, vector(2, ...entries))

export const ECH = extension(0xfe0d, Buffer.alloc(40))

/** The message without its records. */
export const helloMessage = (...extensions: readonly Buffer[]): Buffer => {
  const fields = [
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    vector(1, Buffer.alloc(32)),
    vector(2, Buffer.from([0x13, 1])),
    vector(1, Buffer.from([0])),
  ]
  return Buffer.concat([Buffer.from([1]), vector(3, ...fields, vector(2, ...extensions))])
}

export const record = (content: Buffer, type = 22): Buffer =>
  Buffer.concat([Buffer.from([type, 3, 1]), vector(2, content)])

export const clientHello = (...extensions: readonly Buffer[]): Buffer => record(helloMessage(...extensions))
