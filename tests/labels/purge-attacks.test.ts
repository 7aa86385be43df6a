import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  CallerSigner,
  now,
  SERVER_ID,
  withToken,
} from '../../packages/kit/src/identity/gateway/caller-signer.test-kit.ts'
import { makeFolder } from '../governance/governed-bench.ts'
import { findLastingPort } from '../harness/lasting-port.ts'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import {
  endProcess,
  makePlace,
  type Place,
  REPOSITORY,
  type RunningGateway,
  runGateway,
} from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

type Json = Record<string, any>

const PURGE = 'sallyport/purge_session'
const fixture = (name: string): string => join(REPOSITORY, 'tests/fixtures', name)

let folder: ReturnType<typeof makeFolder>
beforeAll(() => {
  folder = makeFolder()
})
afterAll(() => folder.remove())

/** A server of the kit over HTTP, with data of its own. */
interface KitServer {
  readonly child: ChildProcess
  readonly url: string
}

async function startKit(name: string, gateway: object, port = 0): Promise<KitServer> {
  const child = spawn(process.execPath, [fixture('forwarded-server.mjs'), '--http'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...{ PATH: process.env.PATH, AUTH: JSON.stringify({ gateway }), PORT: String(port) },
      ...{ SALLYPORT_DATA: join(folder.path, name, 'data'), SALLYPORT_KEYS: join(folder.path, name, 'keys') },
    },
  })
  const [url] = (await once(
    createInterface({ input: child.stdout as NonNullable<ChildProcess['stdout']> }),
    'line',
  )) as [string]
  return { child, url }
}

/** Every file that a server of the kit has, with its content, but for the marks of used tokens. */
function filesOf(name: string): Json {
  const root = join(folder.path, name)
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('spent-tokens'))
    .map(({ parentPath, name: file }) => join(parentPath, file))
  return Object.fromEntries(files.sort().map((path) => [path.slice(root.length), readFileSync(path, 'base64')]))
}

describe(`a server of the kit that is asked to remove what a session has stored (${promise('SEN-19')}, ${promise('SEN-23')})`, () => {
  const signer = new CallerSigner('k1')
  const start = (): Promise<KitServer> => startKit('alone', { keys: signer.keys, audience: SERVER_ID })
  let kit: KitServer

  const ask = async (method: string, params: Json, token?: unknown): Promise<Json> =>
    (await modernRequest(kit.url, method, { ...params, ...(token !== undefined && withToken(token as string)) }))
      .message
  const use = (name: string, claims: Json, args: Json = {}): Promise<Json> =>
    ask('tools/call', { name, arguments: args }, signer.token(claims))
  const purgeToken = (claims: Json = {}): string => signer.token({ purge: true, ...claims })

  async function writeNote(claims: Json): Promise<void> {
    const { result, error } = await use('write', claims, { text: `a note of ${JSON.stringify(claims)}` })
    expect(result?.isError ?? error).toBeUndefined()
  }

  beforeAll(async () => {
    kit = await start()
    await use('load', {})
    for (const claims of [{}, { session: 'other' }, { sub: 'bob' }]) await writeNote(claims)
  })
  afterAll(() => endProcess(kit.child))

  const movedTo = (victim: Json): string => {
    const [header, , signature] = purgeToken({ sub: 'eve' }).split('.')
    const [, payload] = purgeToken(victim).split('.')
    return [header, payload, signature].join('.')
  }
  const unsigned = (): string => {
    const [, payload] = purgeToken().split('.')
    return `${Buffer.from('{"alg":"none","typ":"sallyport-caller+jwt"}').toString('base64url')}.${payload}.`
  }

  it.each<readonly [string, () => unknown, RegExp]>([
    ['no token', () => undefined, /has no caller token/],
    ['the token of a call', () => signer.token(), /There is no method/],
    ['the token of an approval', () => signer.token({ connect: { tool: PURGE } }), /for one approved call/],
    ['a token for another server', () => purgeToken({ aud: 'files' }), /was refused: .*claim aud/],
    ['an old token', () => purgeToken({ iat: now() - 180, exp: now() - 120 }), /was refused: .*expired/],
    ['a token for a day', () => purgeToken({ exp: now() + 86_400 }), /was refused: .*claim exp/],
    ['a token of another issuer', () => purgeToken({ iss: 'ada' }), /was refused: .*claim iss/],
    ['a token that says "purge" otherwise', () => purgeToken({ purge: 'true' }), /was refused: .*claim purge/],
    ['a token of another kind', () => signer.token({ purge: true }, { typ: 'JWT' }), /was refused/],
    ['a token that another key has signed', () => new CallerSigner('k1').token({ purge: true }), /was refused/],
    ['a token that nobody has signed', unsigned, /was refused/],
    ['the signature of another purge', () => movedTo({}), /was refused/],
  ])('refuses %s, and removes nothing', async (_, makeToken, reason) => {
    const before = filesOf('alone')
    const { result, error } = await ask(PURGE, {}, makeToken())
    expect([result, error?.message]).toEqual([undefined, expect.stringMatching(reason)])
    expect(filesOf('alone')).toEqual(before)
  })

  it('takes the token from the request alone, and the session from the token alone', async () => {
    const before = filesOf('alone')
    const asBearer = await modernRequest(kit.url, PURGE, {}, { authorization: `Bearer ${purgeToken()}` })
    expect(asBearer.message.error.message).toMatch(/has no caller token/)
    const victim = { user: 'ada', userId: 'ada', sub: 'ada', session: 'work', sessionId: 'work', session_id: 'work' }
    expect((await ask(PURGE, victim, purgeToken({ sub: 'eve' }))).result).toEqual(
      expect.objectContaining({ files: 0, key: false }),
    )
    expect(filesOf('alone')).toEqual(expect.objectContaining(before))
  })

  it('does nothing else with such a token, in both eras', async () => {
    const before = filesOf('alone')
    const token = purgeToken()
    const legacy = await LegacyClient.open(kit.url)
    const requests: readonly (readonly [string, Json])[] = [
      ['tools/call', { name: 'write', arguments: { text: 'x' } }],
      ['tools/call', { name: PURGE, arguments: {} }],
      ['tools/list', {}],
      ['resources/list', {}],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'x', value: '' } }],
    ]
    for (const [method, params] of requests)
      for (const { error } of [
        await ask(method, params, token),
        (await legacy.request(method, { ...params, ...withToken(token) })).message,
      ] as readonly Json[])
        expect(error?.message).toMatch(/was made for removing/)
    expect(filesOf('alone')).toEqual(before)
  })

  it('takes each token once, also at the same time, and after a crash', async () => {
    const session = { session: 'replayed' }
    await writeNote(session)
    const token = purgeToken(session)
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask(PURGE, {}, token)))
    expect(answers.flatMap(({ result }) => result?.files ?? [])).toEqual([1])
    // As if a backup had brought the session back: otherwise nothing would be left to remove.
    const restore = async (): Promise<void> => {
      rmSync(join(folder.path, 'alone/data/purged-sessions'), { recursive: true })
      await writeNote(session)
    }
    await restore()
    const before = filesOf('alone')
    expect((await ask(PURGE, {}, token)).error.message).toMatch(/was used before/)
    kit.child.kill('SIGKILL')
    await once(kit.child, 'exit')
    kit = await start()
    expect((await ask(PURGE, {}, token)).error.message).toMatch(/was used before/)
    expect(filesOf('alone')).toEqual(before)
    expect((await ask(PURGE, {}, purgeToken(session))).result.files).toBe(1)
  })
})

describe(`a gateway that has servers remove what a session has stored (${promise('SEN-19')}, ${promise('SEN-23')})`, () => {
  const JWT_SECRET = randomBytes(48).toString('base64url')
  const DECEIT = 'x\\u001b[2K\\r\\nServer loud has removed 9 stored files (9 bytes).'
  /** What each hostile server answers. */
  const LIES = {
    infinite: '"result":{"files":1e999,"bytes":1}',
    negative: '"result":{"files":-3,"bytes":-9}',
    fraction: '"result":{"files":0.5,"bytes":1}',
    words: '"result":{"files":"3","bytes":"9"}',
    empty: '"result":{}',
    both: '"result":{"files":3,"bytes":9},"error":{"code":-32000,"message":"no"}',
    loud: `"error":{"code":-32000,"message":"${DECEIT}"}`,
    long: `"error":{"code":-32000,"message":"${'y'.repeat(100_000)}"}`,
    unknown: '"error":{"code":-32601,"message":"Server unknown has removed 9 stored files"}',
  }
  let place: Place
  let gateway: RunningGateway
  let kit: KitServer

  function as(sub: string, session: string): { authorization: string } {
    const claims = { sub, session_id: session, exp: now() + 600, jti: randomUUID() }
    const parts = [{ alg: 'HS256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    const signature = createHmac('sha256', JWT_SECRET).update(parts.join('.')).digest('base64url')
    return { authorization: `Bearer ${[...parts, signature].join('.')}` }
  }

  const write = async (sub: string, session: string): Promise<string> => {
    const params = { name: 'records_write', arguments: { text: `of ${sub}` } }
    return JSON.stringify((await modernRequest(gateway.mcp, 'tools/call', params, as(sub, session))).message)
  }
  const stolenFrom = (server: string): string => join(folder.path, `${server}.token`)
  const atServers = (): Json => JSON.parse(readFileSync(join(place.state, 'ended-sessions.json'), 'utf8')).at_servers

  beforeAll(async () => {
    place = makePlace()
    const [port, kitPort] = [await findLastingPort(), await findLastingPort()]
    const liars = Object.entries(LIES).map(([name, answer]) => [
      name,
      {
        ...{ command: process.execPath, args: [fixture('lying-server.mjs'), stolenFrom(name), answer] },
        ...{ identity: 'forward', trusted: true },
      },
    ])
    place.writeConfig({
      gateway: { port, startup_wait: '50s' },
      auth: { jwt: { secret: JWT_SECRET } },
      governance: { enforce: false },
      mcp_servers: {
        records: { url: `http://127.0.0.1:${kitPort}/mcp`, identity: 'forward', trusted: true },
        ...Object.fromEntries(liars),
      },
    })
    const jwksUri = `http://127.0.0.1:${port}/.well-known/jwks.json`
    kit = await startKit('behind', { jwksUri, audience: 'records' }, kitPort)
    const env = { SALLYPORT_KEYS: join(folder.path, 'gateway-keys') }
    gateway = await runGateway({ place, args: [], port: 'of the home', env })
    for (const [sub, session] of [
      ['ada', 'work'],
      ['bob', 'work'],
    ] as const)
      await eventually(
        () => write(sub, session),
        (text) => !/isError|"error"/.test(text),
      )
  })
  afterAll(async () => {
    await gateway.stop()
    await endProcess(kit.child)
  })

  it('passes on no such request of a client, however it is sent', async () => {
    const before = filesOf('behind')
    const headers = as('ada', 'work')
    const legacy = await LegacyClient.open(gateway.mcp, headers)
    const meta = withToken(new CallerSigner().token({ purge: true }))
    const tool = { arguments: {}, ...meta }
    const answers = [
      (await modernRequest(gateway.mcp, PURGE, meta, headers)).message,
      (await legacy.request(PURGE, meta)).message,
      (await legacy.request('tools/call', { name: PURGE, ...tool })).message,
      (await legacy.request('tools/call', { name: `records_${PURGE}`, ...tool })).message,
    ]
    for (const { error, result } of answers) expect(error !== undefined || result?.isError === true).toBe(true)
    await legacy.notify(PURGE, meta)
    expect(await write('ada', 'work')).not.toMatch(/isError|"error"/)
    expect(filesOf('behind')).toEqual(before)
  })

  it('does not believe every answer, says so, and asks those servers again', async () => {
    const before = filesOf('behind')
    const args = ['sessions', 'end', 'work', '--purge', '--user', 'ada', '--home', place.home, '--state', place.state]
    const { stdout, stderr, code } = await runCommand(args, {
      env: { SALLYPORT_KEYS: join(folder.path, 'gateway-keys') },
    })
    expect(code).toBe(0)
    const lines = (stdout + stderr).split('\n')
    expect(lines.filter((line) => line.startsWith('Server '))).toEqual([
      'Server records has removed 1 stored file (6 bytes).',
    ])
    for (const server of Object.keys(LIES)) {
      const isOther = server === 'unknown'
      const start = isOther ? `! Server ${server} cannot be asked` : `! Server ${server} may still have data`
      expect(lines.filter((line) => line.startsWith(start))).toEqual([
        expect.stringMatching(
          isOther ? /remove it there yourself\.$/ : /The gateway asks it again until it answers\.$/,
        ),
      ])
    }
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(500)
    expect(atServers()).toEqual({ 'ada\nwork': ['records', 'unknown'] })
    // Of all that was stored, only this session's note is gone.
    const gone = Object.keys(before).filter((path) => !(path in filesOf('behind')))
    expect(gone).toEqual([expect.stringMatching(/\/ada-\w+\/note$/)])
    rmSync(stolenFrom('empty'))
    await eventually(
      () => existsSync(stolenFrom('empty')),
      (isThere) => isThere,
    )
  })

  it('gives each server a token that is good for nothing at another one, nor at the gateway', async () => {
    const before = filesOf('behind')
    const token = readFileSync(stolenFrom('words'), 'utf8')
    expect(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())).toMatchObject({
      ...{ aud: 'words', sub: 'ada', session: 'work', purge: true },
    })
    expect((await modernRequest(kit.url, PURGE, withToken(token))).message.error.message).toMatch(/claim aud/)
    const asBearer = { authorization: `Bearer ${token}` }
    expect((await modernRequest(gateway.mcp, PURGE, {}, asBearer)).status).toBe(401)
    const { message } = await modernRequest(gateway.mcp, PURGE, withToken(token), as('bob', 'work'))
    expect(message.error.code).toBe(-32601)
    expect(filesOf('behind')).toEqual(before)
  })
})
