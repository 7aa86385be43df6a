// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration refers to variables.

import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findLastingPort } from '../harness/lasting-port.ts'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

type Json = Record<string, any>

const SERVER = join(REPOSITORY, 'tests/fixtures/caller-server.mjs')
const SECRET = randomBytes(48).toString('base64url')

const entry = (switches: readonly string[] = [], more: object = {}): object => ({
  command: process.execPath,
  args: [SERVER, ...switches],
  ...more,
})
const forward = { identity: 'forward' }

/** A user whom an identity provider has signed. */
function as(sub: string, session_id: string): { authorization: string } {
  const claims = { sub, session_id, exp: Math.floor(Date.now() / 1_000) + 3_600 }
  const encoded = [{ alg: 'HS256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  const signature = createHmac('sha256', SECRET).update(encoded.join('.')).digest('base64url')
  return { authorization: `Bearer ${[...encoded, signature].join('.')}` }
}

let root: string
let gateway: RunningGateway
let remote: ChildProcess
let ann: LegacyClient
let bob: LegacyClient

async function openRemote(): Promise<[ChildProcess, string]> {
  const place = makePlace()
  const port = await findLastingPort()
  const child = spawn(
    process.execPath,
    [SERVER, '--http', '--audience', 'remote', '--jwks', `http://127.0.0.1:${port}/.well-known/jwks.json`],
    { stdio: ['pipe', 'pipe', 'ignore'] },
  )
  const [own] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const url = `http://127.0.0.1:${own}/mcp`
  const config = {
    gateway: { port },
    auth: { jwt: { secret: '${SECRET}' } },
    governance: { enforce: false, patterns: { 'mcp__*__echo': { secrets: 'allow' } } },
    mcp_servers: {
      local: entry([], forward),
      modern: entry(['--era', 'modern'], forward),
      quiet: entry(['--silent'], forward),
      plain: entry(),
      remote: { url, ...forward },
    },
  }
  place.writeConfig(config)
  gateway = await runGateway({
    place,
    args: [],
    port: 'of the home',
    env: { SECRET, SALLYPORT_KEYS: join(root, 'keys') },
  })
  return [child, url]
}

const untilReady = (client: LegacyClient, server: string): Promise<unknown> =>
  eventually(
    async () => (await client.call(`${server}_whoami`)).isError,
    (failed) => failed !== true,
  )

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-callers-'))
  ;[remote] = await openRemote()
  ann = await LegacyClient.open(gateway.mcp, as('ann', 'work'))
  bob = await LegacyClient.open(gateway.mcp, as('bob', 'play'))
  for (const server of ['local', 'modern', 'quiet', 'plain', 'remote']) await untilReady(ann, server)
})

afterAll(async () => {
  await gateway.stop()
  remote.stdin?.end()
  await once(remote, 'exit')
  rmSync(root, { recursive: true, force: true })
})

const read = (result: Json): Json => JSON.parse(result.content[0].text)
const whoami = async (client: LegacyClient, server: string): Promise<Json> =>
  read(await client.call(`${server}_whoami`))

describe(`${promise('SEN-19')} a server that is told who calls`, () => {
  it.each(['local', 'remote', 'modern'])(
    'knows both users of one connection, by tokens of its own: %s',
    async (server) => {
      const [hers, his] = [(await whoami(ann, server)).claims, (await whoami(bob, server)).claims]
      expect(hers).toMatchObject({
        ...{
          iss: 'sallyport',
          aud: server,
          sub: 'ann',
          session: 'work',
          label: 'PUBLIC',
          private: false,
          shapes: true,
        },
        permissions: ['READ', 'WRITE', 'CONNECT'],
      })
      expect(his).toMatchObject({ aud: server, sub: 'bob', session: 'play' })
      for (const { iat, exp } of [hers, his]) expect(exp - iat).toBeLessThanOrEqual(60)
      expect(hers.jti).not.toBe(his.jti)
      expect(hers.kid).toBe(his.kid)
    },
  )

  it('gets the same token again with the next requests, in both eras of its clients', async () => {
    const first = (await whoami(ann, 'local')).claims
    const modern = await modernRequest(gateway.mcp, 'tools/call', { name: 'local_whoami' }, as('ann', 'work'))
    const again = (await whoami(ann, 'local')).claims
    expect(again.jti).toBe(first.jti)
    expect(read(modern.message.result).claims).toMatchObject({ sub: 'ann', session: 'work' })
  })

  it('gets it with every request of a caller, and with none of the gateway itself', async () => {
    await ann.request('resources/read', { uri: 'memo://one' })
    await ann.request('prompts/get', { name: 'local_p' })
    const ref = { type: 'ref/prompt', name: 'local_p' }
    await ann.request('completion/complete', { ref, argument: { name: 'x', value: '' } })
    await ann.request('resources/subscribe', { uri: 'memo://one' })
    await bob.request('resources/subscribe', { uri: 'memo://one' })
    const { seen } = (await whoami(ann, 'local')) as { seen: Json[] }
    const callers = (method: string): string[] =>
      seen.filter((one) => one.method === method).map(({ caller }) => caller?.sub)
    expect(callers('resources/read')).toEqual(['ann'])
    expect(callers('prompts/get')).toEqual(['ann'])
    expect(callers('completion/complete')).toEqual(['ann'])
    // Each caller in turn: the server may refuse one of them.
    expect(callers('resources/subscribe')).toEqual(['ann', 'bob'])
    const own = seen.filter(({ method }) =>
      /^(initialize|server\/discover|ping|.*\/list|notifications\/.*)$/.test(method),
    )
    expect(own.length).toBeGreaterThan(3)
    expect(own.filter(({ caller, keys }) => caller !== null || keys.length > 0)).toEqual([])
    expect(seen.filter(({ caller }) => caller?.refused)).toEqual([])
  })

  it.each(['local', 'plain', 'quiet'])('cannot be deceived by the client: %s', async (server) => {
    const forged = { 'sallyport/caller': 'x.y.z', 'sallyport/other': 1 }
    const params = { name: `${server}_whoami`, arguments: {}, _meta: forged }
    const legacy = read((await ann.request('tools/call', params)).message.result)
    const modern = read((await modernRequest(gateway.mcp, 'tools/call', params, as('ann', 'work'))).message.result)
    for (const { claims, seen } of [legacy, modern]) {
      expect(claims?.sub).toBe(server === 'local' ? 'ann' : undefined)
      expect(seen.flatMap(({ keys }: Json) => keys).filter((key: string) => key !== 'sallyport/caller')).toEqual([])
    }
  })

  it.each([
    ['plain', 'its entry does not ask for it', []],
    ['quiet', 'it does not declare it', ['SALLYPORT_CALLER_KEYS', 'SALLYPORT_SERVER_ID']],
  ])('is not the server %s, since %s', async (server, _, variables) => {
    const { claims, seen, variables: found } = await whoami(ann, server)
    expect(claims).toBe(null)
    expect(seen.flatMap(({ keys }: Json) => keys)).toEqual([])
    expect(found.sort()).toEqual(variables)
  })

  it('is warned about once if it does not declare it, and `servers` shows that', async () => {
    const warned = gateway
      .stderr()
      .split('\n')
      .filter((line) => line.includes('does not declare'))
    expect(warned).toHaveLength(1)
    expect(warned[0]).toContain('Server quiet has "identity: forward"')
    const shown = async (name: string): Promise<string> =>
      (await runCommand(['servers', name, '--home', gateway.home, '--state', gateway.state])).stdout
    expect(await shown('quiet')).toMatch(/callers\s+not named to it/)
    expect(await shown('local')).toMatch(/callers\s+named to it with each request/)
    expect(await shown('plain')).not.toMatch(/callers/)
  })
})

describe(`${promise('SEN-19')} the keys`, () => {
  it('are checked by `doctor`, which creates none', async () => {
    const doctor = async (env: Record<string, string>): Promise<string> =>
      (await runCommand(['doctor', '--home', gateway.home, '--state', gateway.state], { env: { SECRET, ...env } }))
        .stdout
    expect(await doctor({ SALLYPORT_KEYS: join(root, 'keys') })).toMatch(
      /✓ caller keys .*caller-keys\.json, 1 published/,
    )
    expect(await doctor({ SALLYPORT_KEYS: join(root, 'none') })).toMatch(/caller keys .*will be created/)
    expect(existsSync(join(root, 'none'))).toBe(false)
    expect(await doctor({ SALLYPORT_KEYS: join(gateway.state, 'keys') })).toMatch(
      /✗ caller keys .*is inside[^→]*→ .*SALLYPORT_KEYS/,
    )
  })

  it('are public without a token, without their private part', async () => {
    const answer = await fetch(`${gateway.url}/.well-known/jwks.json`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/jwk-set+json'])
    const { keys } = (await answer.json()) as { keys: Json[] }
    expect(keys).toHaveLength(1)
    expect(keys[0]).not.toHaveProperty('d')
    expect((await whoami(ann, 'remote')).claims.kid).toBe(keys[0]?.kid)
    expect((await fetch(`${gateway.url}/.well-known/jwks.json`, { method: 'POST' })).status).toBe(405)
    const foreign = await fetch(`${gateway.url}/.well-known/jwks.json`, { headers: { origin: 'https://evil.example' } })
    expect(foreign.status).toBe(403)
  })

  it('are in a file that only their owner can read, outside of state and home', () => {
    const file = join(root, 'keys', 'caller-keys.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(root, 'keys')).mode & 0o777).toBe(0o700)
    const { d } = JSON.parse(readFileSync(file, 'utf8')).keys[0].jwk
    expect(JSON.stringify(gateway.records()) + gateway.stderr()).not.toContain(d)
  })

  it('are not created, nor published, if no server is told who calls', async () => {
    const keys = join(root, 'unused')
    const other = await runGateway({ config: { mcp_servers: { plain: entry() } }, env: { SALLYPORT_KEYS: keys } })
    const client = await LegacyClient.open(other.mcp)
    await untilReady(client, 'plain')
    expect((await fetch(`${other.url}/.well-known/jwks.json`)).status).toBe(404)
    expect(existsSync(keys)).toBe(false)
    await other.stop()
  })
})

describe(`${promise('SEN-19')} a server that repeats the token`, () => {
  const TOKEN =
    /eyJhbGciOiJFZERTQSIs|ZXlKaGJHY2lPaUpGWkVS|65794a68624763694f694a|c2FsbHlwb3J0LWNhbGxlcitqd3Q|\.eyJpc3Mi/
  const HIDDEN = '[redacted: credential of the server]'

  it.each(['local', 'remote', 'modern'])('is not passed on, although its entry allows secrets: %s', async (server) => {
    const params = { name: `${server}_echo`, arguments: {}, _meta: { progressToken: 1 } }
    const { message, before } = await ann.request('tools/call', params)
    expect(message.result.content[0].text).toContain(HIDDEN)
    expect(message.result._meta['sallyport/caller']).toBeUndefined()
    expect(JSON.stringify([message, before])).not.toMatch(TOKEN)
    // Nothing is left of it: neither the claims nor the signature.
    expect(message.result.content[0].text.replaceAll(HIDDEN, '').length).toBeLessThan(50)
    const refused = (await ann.request('tools/call', { name: `${server}_refuse`, arguments: {} })).message
    expect(JSON.stringify(refused)).toContain(HIDDEN)
    expect(JSON.stringify(refused)).not.toMatch(TOKEN)
  })

  it('cannot put it into errors, its stderr, the log, or what commands show', async () => {
    const died = await ann.call('local_die')
    expect(died.isError).toBe(true)
    const headers = { authorization: `Bearer ${gateway.token('operator')}` }
    const servers = await eventually(
      async () => (await fetch(`${gateway.url}/api/servers`, { headers })).text(),
      (text) => text.includes('fatal: '),
    )
    expect(servers).toContain(HIDDEN)
    for (const shown of [JSON.stringify(died), servers, gateway.stderr(), JSON.stringify(gateway.records())])
      expect(shown).not.toMatch(TOKEN)
    await untilReady(ann, 'local')
  })
})

describe(`${promise('SEN-21')} a result whose server names a preset`, () => {
  const rows = async (server: string, args: object): Promise<Json> =>
    (await ann.request('tools/call', { name: `${server}_rows`, arguments: args })).message.result
  const shapedBy = (result: Json): string | undefined => result._meta?.['sallyport/shaped'] && 'shaped'

  it.each([
    ['by its name', { preset: 'sql_query' }],
    ['by its settings', { preset: { threshold: 2_000, rows: { head: 3, tail: 1 } } }],
  ])('is shortened and stored by it, and the rest can be read: %s', async (_, preset) => {
    const result = await rows('local', { preset })
    expect(shapedBy(result)).toBe('shaped')
    expect(result._meta.kept).toBe(true)
    expect(result._meta['sallyport/result']).toBeUndefined()
    expect(JSON.stringify(result).length).toBeLessThan(6_000)
    const handle = /r_[a-z2-7]{20}/.exec(JSON.stringify(result))?.[0]
    const page = await ann.call('sallyport_read_result', { handle })
    expect(page.content[0].text).toContain('row 0')
    // The handle belongs to the session.
    expect((await bob.call('sallyport_read_result', { handle })).isError).toBe(true)
  })

  it('is whole without a preset, with one in its contents only, and from servers that are not told who calls', async () => {
    const whole = [
      await rows('local', {}),
      await rows('local', { nested: { preset: 'sql_query' } }),
      await rows('plain', { preset: { preset: 'sql_query' } }),
      await rows('quiet', { preset: { preset: 'sql_query' } }),
    ]
    for (const result of whole) {
      expect(read(result)).toHaveLength(600)
      expect(JSON.stringify(result)).not.toContain('sallyport/')
    }
  })

  it('is shortened by the default preset if that one is unknown, with one warning', async () => {
    for (let call = 0; call < 2; call++)
      expect(shapedBy(await rows('local', { preset: { preset: 'sqlquery' } }))).toBe('shaped')
    const warned = gateway
      .stderr()
      .split('\n')
      .filter((line) => line.includes('names an invalid preset'))
    expect(warned).toHaveLength(1)
    expect(warned[0]).toMatch(/Server local .*"sqlquery".*Did you mean "sql_query"\?/)
  })
})
