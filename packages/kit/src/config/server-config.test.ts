// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration refers to variables.

import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createMcpServer } from '../mcp-server.ts'
import { readServerConfig } from './server-config.ts'

const SECRET = 'a shared secret of more than 32 bytes'

function configure(entry: object) {
  const cwd = mkdtempSync(join(tmpdir(), 'sallyport-server-config-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ mcp_servers: { records: entry } }))
  return readServerConfig('records', { cwd, environment: { SECRET, PORT: '9000', DEV: 'true' } })
}

it('a server is created from its entry, and code overrides it', async () => {
  const { name, options, listen } = await configure({
    type: 'server',
    name: 'Records',
    instructions: 'Be kind.',
    host: '0.0.0.0',
    port: '${PORT}',
    allowed_hosts: ['mcp.example.com'],
    auth: {
      jwt: { secret: '${SECRET}', algorithms: ['HS256'], clock_tolerance: '10s' },
      resource_metadata: 'https://x/y',
    },
  })
  expect(name).toBe('Records')
  expect(listen).toEqual({ host: '0.0.0.0', port: 9000, allowedHosts: ['mcp.example.com'] })
  expect(options).toEqual({
    instructions: 'Be kind.',
    auth: { jwt: { secret: SECRET, algorithms: ['HS256'], clockTolerance: '10s' }, resourceMetadata: 'https://x/y' },
  })
  const server = createMcpServer(name, { ...options, instructions: 'Be brief.' })
  const claims = { sub: 'ada', exp: Math.floor(Date.now() / 1_000) + 60 }
  const signed = [{ alg: 'HS256' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const authorization = `Bearer ${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
  expect(await server.authenticate({ authorization })).toMatchObject({ identity: { userId: 'ada' } })
})

it('a minimal entry has a port, its own name, and no access over HTTP', async () => {
  const { name, options, listen } = await configure({ type: 'server' })
  expect({ name, options, listen }).toEqual({ name: 'records', options: {}, listen: { port: 8000 } })
  expect(() => createMcpServer(name, options).assertMayListen('127.0.0.1')).toThrow(/neither "auth" nor "dev"/)
})

it('variables, which are always strings, can be numbers and booleans', async () => {
  expect(await configure({ type: 'server', dev: '${DEV}', port: '${PORT}' })).toMatchObject({
    options: { dev: true },
    listen: { port: 9000 },
  })
})

it('callers behind the gateway are configured with true, or with keys and a secret', async () => {
  const gatewayOf = async (gateway: unknown) =>
    (await configure({ type: 'server', auth: { gateway } })).options.auth?.gateway
  expect(await gatewayOf(true)).toBe(true)
  const keys = { keys: [{ kty: 'OKP' }] }
  expect(await gatewayOf({ keys, audience: 'records', secret: '${SECRET}' })).toEqual({
    keys,
    audience: 'records',
    secret: SECRET,
  })
  expect(await gatewayOf({ jwks_uri: 'https://x/jwks.json' })).toEqual({ jwksUri: 'https://x/jwks.json' })
})

it.each([
  [{ url: 'x' }, /is not a kit server/],
  [{ type: 'server', port: 'hunter2' }, /records.port has an invalid value: expected a whole number/],
  [{ type: 'server', port: 70_000 }, /records.port/],
  [{ type: 'server', dev: 'hunter2' }, /records.dev has an invalid value: expected true or false/],
  [{ type: 'server', name: 7 }, /records.name/],
  [{ type: 'server', auth: {} }, /records.auth has an invalid value: expected jwt, gateway or both/],
  [{ type: 'server', auth: { jwt: 7 } }, /records.auth.jwt: expected a mapping/],
  [{ type: 'server', auth: { gateway: 'hunter2' } }, /records.auth.gateway: expected a mapping/],
  [{ type: 'server', auth: { gateway: { keys: 7 } } }, /records.auth.gateway.keys has an invalid value/],
  [{ type: 'server', auth: { jwt: { secret: 12345678 } } }, /records.auth.jwt.secret has an invalid value/],
  [{ type: 'server', auth: { jwt: { algorithms: 'hunter2' } } }, /records.auth.jwt.algorithms/],
  [{ type: 'server', auth: { jwt: { audience: 7 } } }, /records.auth.jwt.audience/],
])('%j is an error that names the key and contains no value', async (entry, message) => {
  const error = await configure(entry).catch((thrown: Error) => thrown)
  expect(String(error)).toMatch(message)
  expect(String(error)).not.toMatch(/hunter2|12345678/)
})
