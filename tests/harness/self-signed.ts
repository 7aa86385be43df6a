import { generateKeyPairSync, sign } from 'node:crypto'

export interface SelfSigned {
  readonly key: string
  readonly cert: string
}

/** A certificate for localhost and 127.0.0.1 that signs itself, made anew each time and good for a day (RFC 5280, DER by hand). */
export function makeSelfSigned(): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(node(0x31, sequence(COMMON_NAME, node(0x0c, Buffer.from('sallyport test only')))))
  const extensions = node(
    0xa3,
    sequence(
      sequence(BASIC_CONSTRAINTS, node(0x04, sequence(node(0x01, Buffer.from([0xff]))))),
      sequence(
        ALT_NAMES,
        node(0x04, sequence(node(0x82, Buffer.from('localhost')), node(0x87, Buffer.from([127, 0, 0, 1])))),
      ),
    ),
  )
  const signed = sequence(
    node(0xa0, node(0x02, Buffer.from([2]))),
    node(0x02, Buffer.from([1])),
    sequence(ECDSA_SHA256),
    name,
    sequence(timeAt(-3_600_000), timeAt(86_400_000)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  )
  const signature = node(0x03, Buffer.from([0]), sign('sha256', signed, privateKey))
  const body = sequence(signed, sequence(ECDSA_SHA256), signature).toString('base64')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${body.replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  }
}

const COMMON_NAME = Buffer.from('0603550403', 'hex')
const BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex')
const ALT_NAMES = Buffer.from('0603551d11', 'hex')
const ECDSA_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')

function node(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Buffer[]): Buffer => node(0x30, ...parts)

const timeAt = (offset: number): Buffer =>
  node(
    0x17,
    Buffer.from(
      `${new Date(Date.now() + offset)
        .toISOString()
        .replaceAll(/[-:T]|\.\d+/g, '')
        .slice(2)}`,
    ),
  )
