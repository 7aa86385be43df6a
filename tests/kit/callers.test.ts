import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { JsonObject } from '@sallyport/core'
import { createMcpServer, READ, serveHttp } from '@sallyport/kit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CallerSigner, SERVER_ID, withToken } from '../../packages/kit/src/identity/gateway/caller-signer.test-kit.ts'
import { LegacyClient, modernRequest, post } from '../harness/mcp-client.ts'
import { ROOT } from '../harness/repository.ts'
import { snippetsOf } from '../harness/snippets.ts'
import { StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/forwarded-server.mjs', import.meta.url))
const SECRET = 'rZ8mJ2qX5vB7nT4kW9cL1pD6sG3hF0yA'
const JWT_SECRET = 'a secret of thirty-two bytes or more, for tests'
const gateway = new CallerSigner('k1')
const KEYS = { SALLYPORT_CALLER_KEYS: JSON.stringify(gateway.keys), SALLYPORT_SERVER_ID: SERVER_ID }
const PINNED = { keys: gateway.keys, audience: SERVER_ID }
const run = promisify(execFile)

type Variables = Readonly<Record<string, string>>

let folder: string
const children: ChildProcess[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kit-callers-'))
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'close')
    child.kill('SIGKILL')
    await ended
  }
  await rm(folder, { recursive: true, force: true })
})

const environmentOf = (variables: Variables) => ({
  PATH: process.env.PATH,
  SALLYPORT_DATA: join(folder, 'data'),
  ...variables,
})

function start(args: readonly string[], variables: Variables, cwd: string = folder): ChildProcess {
  const child = spawn(process.execPath, args, {
    cwd,
    env: environmentOf(variables),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

/** A stdio server as a gateway starts it. */
async function startStdio(variables: Variables = KEYS, nodeArgs: readonly string[] = []): Promise<StdioClient> {
  const client = new StdioClient(start([...nodeArgs, FIXTURE], variables))
  await client.initialize()
  return client
}

async function startHttp(auth: object): Promise<string> {
  const child = start([FIXTURE, '--http'], { AUTH: JSON.stringify(auth) })
  if (child.stdout === null) throw new Error('The server has no output.')
  const [url] = await once(createInterface({ input: child.stdout }), 'line')
  return url
}

/** What a server that does not start says. */
async function failureOf(variables: Variables, args: readonly string[] = [FIXTURE]): Promise<string> {
  const ended = run(process.execPath, [...args], { cwd: folder, env: environmentOf(variables), timeout: 60_000 })
  // One that does start ends with its input, or after the timeout.
  ended.child.stdin?.end()
  return ended.then(
    () => 'it started',
    ({ stderr }: { stderr: string }) => stderr,
  )
}

type Claims = JsonObject
type Message = Record<string, any>

async function call(client: StdioClient, name: string, claims: Claims = {}, args: object = {}): Promise<Message> {
  return client.request('tools/call', { name, arguments: args, ...withToken(gateway.token(claims)) })
}
const textOf = ({ result, error }: Message): string => result?.content?.[0]?.text ?? error?.message
const BOB = { sub: 'bob', session: 'work' }

describe(`${promise('SEN-19')} a stdio server that a gateway started`, () => {
  test('keeps the files and the results of its users apart', async () => {
    const client = await startStdio()
    await call(client, 'write', {}, { text: 'of ada' })
    const saved = await call(client, 'search', { shapes: false })
    const { handle } = saved.result._meta['sallyport/shaped'].results[0]
    expect(textOf(await call(client, 'files'))).toContain('note')
    expect(textOf(await call(client, 'files', BOB))).toBe('[]')
    expect(textOf(await call(client, 'sallyport_read_result', {}, { handle }))).toContain('a line')
    expect(textOf(await call(client, 'sallyport_read_result', BOB, { handle }))).toContain('no such result')
    const others = await Promise.all(['ada', 'bob', 'eve'].map((sub) => call(client, 'whoami', { sub })))
    expect(others.map(({ result }) => result.structuredContent.userId)).toEqual(['ada', 'bob', 'eve'])
  })

  test('is nobody when no token comes: the user who started it has no session here', async () => {
    const client = await startStdio()
    const answer = await client.request('tools/call', { name: 'files', arguments: {} })
    expect(answer.error.message).toContain('no caller token')
    expect(await client.toolNames()).toContain('files')
  })

  test('forgets neither a label nor a used approval when it is killed', async () => {
    const first = await startStdio()
    const approved = gateway.token({ private: true, label: 'SECRET', connect: { tool: 'post' } })
    const use = (client: StdioClient) =>
      client.request('tools/call', { name: 'post', arguments: {}, ...withToken(approved) })
    expect(textOf(await use(first))).toBe('posted')
    await first.kill()
    const second = await startStdio()
    expect(textOf(await call(second, 'post'))).toMatch(/was not run.*holds private data \(SECRET/)
    expect((await use(second)).error.message).toContain('was used before')
    expect(textOf(await call(second, 'post', BOB))).toBe('posted')
  })

  test('does not lower a label by a token from before, of another agent, or on another connection', async () => {
    const client = await startStdio()
    const older = gateway.token({ label: 'PUBLIC', private: false })
    await call(client, 'whoami', { label: 'CONFIDENTIAL', private: true })
    const again = await client.request('tools/call', { name: 'post', arguments: {}, ...withToken(older) })
    expect(textOf(again)).toContain('was not run')
    for (const claims of [{}, { agent: 'codex' }, { profile: 'reviewer' }])
      expect(textOf(await call(client, 'post', claims))).toContain('was not run')
    expect(textOf(await call(await startStdio(), 'post'))).toContain('was not run')
    expect(textOf(await call(client, 'post', { session: 'another' }))).toBe('posted')
  })

  test('shares a label with other servers of the same data folder', async () => {
    const [first, second] = await Promise.all([startStdio(), startStdio()])
    await call(first, 'whoami', { label: 'CONFIDENTIAL', private: true })
    expect(textOf(await call(second, 'post'))).toContain('was not run')
  })

  test('refuses a message in which a member is there twice', async () => {
    const client = await startStdio()
    const [token, other] = [gateway.token(), gateway.token(BOB)].map((each) => JSON.stringify(each))
    const doubled = [
      `{"sallyport/caller":${other},"sallyport/caller":${token}}`,
      `{"\\u0073allyport/caller":${other},"sallyport/caller":${token}}`,
      `{"sallyport\\/caller":${other},"sallyport/caller":${token}}`,
      `{"sallyport/caller":${token}},"_meta":{"sallyport/caller":${other}}`,
    ]
    for (const meta of doubled) {
      const refused = client.next(({ id }) => id === null)
      client.child.stdin?.write(
        `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"whoami","arguments":{},"_meta":${meta}}}\n`,
      )
      expect((await refused).error).toMatchObject({ code: -32600, message: expect.stringContaining('twice') })
    }
    const url = await startHttp({ gateway: PINNED })
    const body = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"_meta":${doubled[1]}}}`
    expect(await post(url, body)).toMatchObject({ status: 400, message: { error: { code: -32600 } } })
  })

  test('takes the keys only from whoever started it, never from a .env file', async () => {
    const forger = new CallerSigner('k1')
    const forged = { SALLYPORT_CALLER_KEYS: JSON.stringify(forger.keys), SALLYPORT_SERVER_ID: SERVER_ID }
    const file = Object.entries(forged).map(([name, value]) => `${name}='${value}'\n`)
    await writeFile(join(folder, '.env'), file.join(''))
    const notSet = 'SALLYPORT_CALLER_KEYS was not set when this process was started'
    expect(await failureOf({})).toContain(notSet)
    expect(await failureOf({}, ['--env-file=.env', FIXTURE])).toContain(notSet)
    expect(await failureOf({ LATE_KEYS: forged.SALLYPORT_CALLER_KEYS })).toContain(notSet)
    const client = await startStdio({ ...KEYS, LATE_KEYS: forged.SALLYPORT_CALLER_KEYS }, ['--env-file=.env'])
    const answer = await client.request('tools/call', { name: 'whoami', ...withToken(forger.token()) })
    expect(answer.error.message).toContain('signature')
    expect(textOf(await call(client, 'whoami'))).toContain('ada')
  })
})

describe(`${promise('SEN-19')} an HTTP server behind a gateway`, () => {
  const whoami = (claims: Claims = {}) => ({ name: 'whoami', arguments: {}, ...withToken(gateway.token(claims)) })
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

  test('does not listen where tokens could be sent again, unless the gateway proves itself', async () => {
    const failure = await failureOf({ AUTH: JSON.stringify({ gateway: PINNED }), HOST: '0.0.0.0' }, [FIXTURE, '--http'])
    expect(failure).toMatch(/on loopback only.*0\.0\.0\.0/)
    expect(failure).toContain('auth.gateway.secret')
    const weak = { gateway: { ...PINNED, secret: 'x'.repeat(40) } }
    expect(await failureOf({ AUTH: JSON.stringify(weak) })).toContain('fewer than 8 different characters')
  })

  test('answers nobody who does not have the secret', async () => {
    const url = await startHttp({ gateway: { ...PINNED, secret: SECRET } })
    for (const headers of [{}, bearer(`${SECRET}x`), bearer(gateway.token())]) {
      const answer = await modernRequest(url, 'tools/call', whoami(), headers)
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer /)])
      expect((await modernRequest(url, 'tools/list', {}, headers)).status).toBe(401)
    }
    const { message } = await modernRequest(url, 'tools/call', whoami(), bearer(SECRET))
    expect(message.result.structuredContent).toMatchObject({ userId: 'ada', sessionId: 'work' })
  })

  test('acts for the caller of each request, also within one session of the legacy era', async () => {
    const url = await startHttp({ gateway: PINNED })
    expect((await modernRequest(url, 'tools/list')).message.result.tools).toHaveLength(8)
    expect((await modernRequest(url, 'tools/call', { name: 'whoami' })).message.error.message).toContain('caller token')
    const session = await LegacyClient.open(url)
    const answers = await Promise.all(
      ['ada', 'bob', 'eve'].flatMap((sub) => [
        session.request('tools/call', whoami({ sub })),
        modernRequest(url, 'tools/call', whoami({ sub })),
      ]),
    )
    expect(answers.map(({ message }) => message.result.structuredContent.userId)).toEqual(
      ['ada', 'bob', 'eve'].flatMap((user) => [user, user]),
    )
    expect((await session.request('tools/call', { name: 'whoami' })).message.error.message).toContain('caller token')
  })

  test('still serves direct callers with their own tokens', async () => {
    const jwt = { secret: JWT_SECRET }
    const body = [{ alg: 'HS256' }, { sub: 'ada', session_id: 'own', exp: Math.floor(Date.now() / 1_000) + 60 }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const own = bearer(`${body}.${createHmac('sha256', JWT_SECRET).update(body).digest('base64url')}`)
    const ask = async (url: string, params: object, headers: { authorization: string }) => {
      const { message } = await modernRequest(url, 'tools/call', { name: 'whoami', arguments: {}, ...params }, headers)
      return message.error?.message ?? message.result.structuredContent.sessionId
    }
    const open = await startHttp({ jwt, gateway: PINNED })
    expect(await ask(open, {}, own)).toBe('own')
    expect(await ask(open, whoami(), own)).toBe('work')
    expect(await ask(open, whoami(BOB), own)).toContain('different users')
    const guarded = await startHttp({ jwt, gateway: { ...PINNED, secret: SECRET } })
    expect(await ask(guarded, {}, own)).toBe('own')
    expect(await ask(guarded, whoami(), own)).toContain('does not come from the gateway')
    expect(await ask(guarded, whoami(), bearer(SECRET))).toBe('work')
    expect(await ask(guarded, {}, bearer(SECRET))).toContain('no caller token')
    const session = await LegacyClient.open(guarded, own)
    expect((await session.request('tools/call', whoami())).message.error.message).toContain('does not come from')
    const stolen = new LegacyClient(guarded, session.session, bearer(SECRET))
    expect((await stolen.request('tools/list')).status).toBe(404)
  })
})

test('a forwarded user with too many requests in flight is refused, and others are not', async () => {
  const waiting = new EventEmitter()
  const server = createMcpServer('records', { auth: { gateway: PINNED }, dataFolder: join(folder, 'data') })
  server.tool('wait', { description: 'Waits', permission: READ }, async () => {
    waiting.emit('begun')
    await once(waiting, 'go on')
  })
  const serving = await serveHttp(server, { port: 0, maxRequestsPerUser: 1 })
  const request = (claims: Claims, name = 'wait') =>
    modernRequest(serving.url, 'tools/call', { name, arguments: {}, ...withToken(gateway.token(claims)) })
  const begun = once(waiting, 'begun')
  const held = request({})
  await begun
  expect((await request({})).status).toBe(503)
  expect((await request({ sub: 'bob' }, 'unknown')).status).toBe(200)
  waiting.emit('go on')
  expect((await held).status).toBe(200)
  await serving.close()
})

test('the server in docs/kit/behind-the-gateway.md runs unchanged', async () => {
  const [snippet] = snippetsOf('docs/kit/behind-the-gateway.md', 'js')
  const child = start(['--input-type=module', '-e', snippet?.text ?? ''], KEYS, join(ROOT, 'packages/kit'))
  const client = new StdioClient(child)
  await client.initialize()
  expect((await call(client, 'whoami')).result.structuredContent).toMatchObject({ userId: 'ada', agent: 'claude-code' })
})

test(`${promise('SEN-21')} a process that a gateway started returns results whole, with their preset`, async () => {
  const client = await startStdio()
  const { result } = await call(client, 'search')
  expect(result.content[0].text).toBe('a line\n'.repeat(2_000))
  expect(result._meta).toEqual({ 'sallyport/result': { preset: 'sql_query' } })
  expect(textOf(await call(client, 'files'))).toBe('[]')
})
