import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { createMcpServer } from '../../mcp-server.ts'
import { CallerSigner } from './caller-signer.test-kit.ts'
import { type GatewayAuthOptions, readGatewayOptions } from './gateway-options.ts'

const gateway = new CallerSigner('k1')
const { keys } = gateway
const START = { SALLYPORT_CALLER_KEYS: JSON.stringify(keys), SALLYPORT_SERVER_ID: 'records' }
const SECRET = 'rZ8mJ2qX5vB7nT4kW9cL1pD6sG3hF0yA'

const read = (options: true | GatewayAuthOptions, start: object = {}) =>
  readGatewayOptions(options, start as Record<string, string>)

describe(`${promise('SEN-19')} the keys of a gateway`, () => {
  it('come from the variables that it sets, or from the options', () => {
    const [{ kty, crv, kid, x }] = keys.keys as [Record<string, unknown>]
    const expected = { tokens: { keySet: { keys: [{ kty, crv, kid, x }] }, audience: ['records'] } }
    expect(read(true, START)).toMatchObject(expected)
    expect(read({ keys, audience: 'records' })).toMatchObject(expected)
    expect(read({ keys: JSON.stringify(keys), audience: 'records' })).toMatchObject(expected)
    expect(read({ keys: new CallerSigner('k2').keys }, START).tokens.keySet?.keys).toMatchObject([{ kid: 'k2' }])
    expect(read({ jwksUri: 'https://gateway.example/.well-known/jwks.json', audience: 'a' }, START)).toMatchObject({
      tokens: { jwksUri: 'https://gateway.example/.well-known/jwks.json', keySet: undefined, audience: ['a'] },
    })
  })

  it('of another type are ignored, as long as one can be used', () => {
    const mixed = { keys: [{ kty: 'RSA', kid: 'r', n: 'x', e: 'AQAB' }, gateway.publicJwk] }
    expect(read({ keys: mixed, audience: 'a' }).tokens.keySet?.keys).toHaveLength(1)
  })

  const keysOf = (...list: unknown[]) => ({ keys: { keys: list }, audience: 'a' })
  const without = (field: string) => ({ ...gateway.publicJwk, [field]: undefined })
  const REFUSED: readonly (readonly [string, true | object, RegExp])[] = [
    ['nothing is set', true, /there are no keys, and SALLYPORT_CALLER_KEYS was not set when/],
    ['the audience is missing', { keys }, /audience is missing/],
    ['the audience is empty', { keys, audience: '' }, /audience is missing/],
    ['there are keys and an address', { keys, jwksUri: 'https://x/y', audience: 'a' }, /both keys and jwksUri/],
    ['the address is not https', { jwksUri: 'http://gateway:4747/jwks', audience: 'a' }, /jwksUri is not https/],
    ['the keys are not JSON', { keys: 'x', audience: 'a' }, /keys is not a JWKS/],
    ['the keys are a list', { keys: [gateway.publicJwk], audience: 'a' }, /keys is not a JWKS/],
    ['there is no key', keysOf(), /no Ed25519 key/],
    ['only keys of other types are there', keysOf({ kty: 'RSA', kid: 'r' }), /no Ed25519 key/],
    ['a private key is there', keysOf(gateway.privateJwk), /has a private key/],
    ['a key has no kid', keysOf(without('kid')), /without a kid/],
    ['two keys have the same kid', keysOf(gateway.publicJwk, new CallerSigner('k1').publicJwk), /the same kid/],
    ['a key has no content', keysOf(without('x')), /not valid/],
    ['a key is cut', keysOf({ ...gateway.publicJwk, x: 'AAAA' }), /not valid/],
    ['a key is for encryption', keysOf({ ...gateway.publicJwk, use: 'enc' }), /not valid/],
    ['the secret is short', { keys, audience: 'a', secret: 'short' }, /secret cannot be used: it has 5 bytes/],
    ['the secret repeats', { keys, audience: 'a', secret: 'abcdefgh'.repeat(8) }, /repeats/],
    ['the secret has a space', { keys, audience: 'a', secret: `${SECRET} x` }, /characters that a bearer token/],
    ['it is neither true nor an object', 'yes' as never, /neither true nor an object/],
  ]
  it.each(REFUSED)('are an error at the start if %s', (_, options, message) => {
    expect(() => read(options as GatewayAuthOptions)).toThrow(message)
  })

  it('never appear in an error, nor does the secret', () => {
    for (const [, options] of REFUSED)
      try {
        read(options as GatewayAuthOptions)
      } catch (error) {
        expect(`${error} ${(error as { hint?: string }).hint}`).not.toMatch(/short'|abcdefgh|rZ8mJ2|"d"/)
      }
  })
})

describe('a server with auth.gateway', () => {
  const serverOf = (gatewayAuth: object) =>
    createMcpServer('records', { auth: { gateway: { keys, audience: 'records', ...gatewayAuth } } })

  it('listens where nobody can send a token again: on loopback, or with a secret', () => {
    for (const host of ['127.0.0.1', '::1', 'localhost']) serverOf({}).assertMayListen(host)
    for (const host of ['0.0.0.0', '::', '10.0.0.7', 'records.example'])
      expect(() => serverOf({}).assertMayListen(host)).toThrow(/on loopback only.*got the host/)
    serverOf({ secret: SECRET }).assertMayListen('0.0.0.0')
  })

  it('knows the gateway by the secret, and by nothing similar', async () => {
    const server = serverOf({ secret: SECRET })
    const fromGateway = { identity: undefined, takesCallers: true }
    expect(await server.authenticate({ authorization: `Bearer ${SECRET}` })).toEqual(fromGateway)
    const similar = [
      '',
      `Bearer ${SECRET}x`,
      `Bearer ${SECRET.slice(1)}`,
      `Basic ${SECRET}`,
      SECRET,
      `Bearer  ${SECRET}`,
    ]
    for (const authorization of [undefined, ...similar, [`Bearer ${SECRET}`, `Bearer ${SECRET}`]])
      expect(await server.authenticate({ authorization })).toMatchObject({ status: 401 })
    expect(await serverOf({}).authenticate({})).toEqual(fromGateway)
  })

  it('needs jwt or gateway in auth', () => {
    expect(() => createMcpServer('x', { auth: {} })).toThrow(/neither "jwt" nor "gateway"/)
  })
})
