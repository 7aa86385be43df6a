import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { CallerSigner, now, SERVER_ID, withToken } from '../identity/gateway/caller-signer.test-kit.ts'
import { getCaller, getSessionId, getUserId, type Identity } from '../identity/identity.ts'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import { offerResults } from '../offer-results.ts'
import type { Bug, ServerOptions } from '../offers/definitions.ts'
import { CONNECT, READ, WRITE } from '../permission.ts'
import { openLabelStore, privateData } from '../private-data/private-data.ts'
import { type Message, MODERN_META, RawClient } from '../raw-client.test-kit.ts'
import { contextResult } from '../results/results.ts'
import { toolResult } from '../tool-result.ts'
import { currentWorkspace } from '../workspace/workspace.ts'

const gateway = new CallerSigner('k1')
const LONG = Array.from({ length: 2_000 }, (_, row) => `line ${row}`).join('\n')

let dataFolder: string
let bugs: Bug[]
beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'caller-gate-'))
  bugs = []
})
afterEach(() => rm(dataFolder, { recursive: true, force: true }))

const GATEWAY = { keys: gateway.keys, audience: SERVER_ID }

function createServer(options: ServerOptions = {}): McpServer {
  const server = createMcpServer('records', {
    dataFolder,
    auth: { gateway: GATEWAY },
    onBug: (bug) => bugs.push(bug),
    presets: { short: { threshold: 500, rows: { head: 3, tail: 0 } } },
    ...options,
  })
  const text = { type: 'object', properties: { text: { type: 'string' } } } as const
  server.tool('whoami', { description: '', permission: READ }, () => getCaller())
  server.tool('write', { description: '', permission: WRITE, input: text }, ({ text: note }) =>
    currentWorkspace().writeFile('/workspace/note', String(note)),
  )
  server.tool('read', { description: '', permission: READ }, async () => {
    return (await currentWorkspace().readFile('/workspace/note')).bytes.toString()
  })
  server.tool('post', { description: '', permission: CONNECT }, () => 'posted')
  server.tool('send', { description: '', permission: CONNECT }, () => 'sent')
  server.tool('label', { description: '', permission: READ }, async () => ({
    sensitivity: await privateData().sensitivity(),
    isPrivate: await privateData().isPrivate(),
  }))
  server.tool('load', { description: '', permission: READ }, async () => {
    await privateData().addPrivateDataset('salaries', 'CONFIDENTIAL')
    return 'salaries'
  })
  server.tool('log', { description: '', permission: READ, result: 'log_search' }, () => LONG)
  server.tool('short', { description: '', permission: READ, result: 'short' }, () => LONG)
  server.tool(
    'wrapped',
    { description: '', permission: READ },
    contextResult('sql_query', () => LONG),
  )
  server.resource('notes://mine', {}, () => getUserId())
  server.resource(
    'notes://long',
    {},
    contextResult('sql_query', () => LONG),
  )
  server.prompt('greet', { arguments: [{ name: 'who', complete: () => [getUserId()] }] }, () => getUserId())
  offerResults(server)
  return server
}

/** Calls a tool as the gateway does, with a token of these claims. */
const call = (client: RawClient, name: string, claims: JsonObject = {}, args: JsonObject = {}): Promise<Message> =>
  client.requestModern('tools/call', {
    name,
    arguments: args,
    ...withToken(gateway.token(claims)),
  })

const textOf = ({ result, error }: Message): string => result?.content?.[0]?.text ?? error.message

const openClient = (server: McpServer = createServer(), identity?: Identity): RawClient =>
  new RawClient(server, identity)

describe(`${promise('SEN-19')} a server behind a gateway`, () => {
  test('declares in both eras that it takes caller tokens, and other servers do not', async () => {
    const declared = { experimental: { 'sallyport/caller': {} } }
    const client = openClient()
    expect((await client.requestModern('server/discover')).result.capabilities).toMatchObject(declared)
    expect((await openClient().initialize()).result.capabilities).toMatchObject(declared)
    const plain = new RawClient(createMcpServer('plain', { dataFolder }))
    expect((await plain.initialize()).result.capabilities).not.toHaveProperty('experimental')
  })

  test('acts for the caller of each token, over one connection, in both eras', async () => {
    const client = openClient()
    const ada = { userId: 'ada', sessionId: 'work', agent: 'claude-code', profile: 'default' }
    expect((await call(client, 'whoami')).result.structuredContent).toEqual(ada)
    const bob = { sub: 'bob', session: 'b', agent: 'codex', profile: 'reviewer' }
    expect((await call(client, 'whoami', bob)).result.structuredContent).toEqual({
      ...{ userId: 'bob', sessionId: 'b', agent: 'codex', profile: 'reviewer' },
    })
    const legacy = openClient()
    await legacy.initialize()
    const users = ['ada', 'bob', 'eve', 'ada', 'bob']
    const answers = users.map((sub) =>
      legacy.request('tools/call', { name: 'whoami', ...withToken(gateway.token({ sub })) }),
    )
    expect((await Promise.all(answers)).map(({ result }) => result.structuredContent.userId)).toEqual(users)
    expect(
      (
        await client.requestModern('resources/read', {
          uri: 'notes://mine',
          ...withToken(gateway.token({ sub: 'bob' })),
        })
      ).result.contents[0].text,
    ).toBe('bob')
  })

  test('gives each user and each session files of their own', async () => {
    const client = openClient()
    await call(client, 'write', {}, { text: 'of ada' })
    expect(textOf(await call(client, 'read'))).toBe('of ada')
    for (const other of [{ sub: 'bob' }, { session: 'other' }])
      expect((await call(client, 'read', other)).result.isError).toBe(true)
  })

  test('lists without a token, and does nothing that belongs to somebody', async () => {
    const client = openClient()
    for (const method of [
      'tools/list',
      'resources/list',
      'resources/templates/list',
      'prompts/list',
      'server/discover',
    ])
      expect(await client.requestModern(method)).toHaveProperty('result')
    const [listen] = [
      client.start('subscriptions/listen', { notifications: { toolsListChanged: true }, _meta: MODERN_META }),
    ]
    expect(await client.waitForNotification('notifications/subscriptions/acknowledged')).toBeDefined()
    expect(listen).toBeGreaterThan(0)
    const owned: readonly (readonly [string, JsonObject])[] = [
      ['tools/call', { name: 'whoami' }],
      ['resources/read', { uri: 'notes://mine' }],
      ['prompts/get', { name: 'greet' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: '' } }],
    ]
    const legacy = openClient()
    await legacy.initialize()
    expect(await legacy.request('ping')).toHaveProperty('result')
    for (const [method, params] of owned)
      for (const answer of [await client.requestModern(method, params), await legacy.request(method, params)])
        expect(answer.error).toMatchObject({ code: -32000, message: expect.stringContaining('"identity: forward"') })
    expect(bugs).toEqual([])
  })

  test('limits a caller to the permissions of the token, as a list and in calls', async () => {
    const client = openClient()
    const { _meta } = withToken(gateway.token({ permissions: ['READ'] }))
    const { tools } = (await client.requestModern('tools/list', { _meta })).result
    expect(tools.map(({ name }: { name: string }) => name)).not.toContain('post')
    expect((await call(client, 'post', { permissions: ['READ'] })).error.message).toContain('There is no tool')
    expect((await call(client, 'whoami', { permissions: [] })).error.message).toContain('There is no tool')
  })

  test('refuses a bad token with what the operator has to check, and never repeats it', async () => {
    const client = openClient()
    const bad = [
      gateway.token({ aud: 'files' }),
      gateway.token({ iat: now() - 90, exp: now() - 30 }),
      new CallerSigner('k1').token(),
      new CallerSigner('k9').token(),
      gateway.token({}, { typ: 'JWT' }),
      'not a token',
      7,
      null,
      {},
    ]
    for (const token of bad)
      for (const method of ['tools/call', 'tools/list']) {
        const { error } = await client.requestModern(method, { name: 'whoami', ...withToken(token) })
        expect(error).toMatchObject({
          code: -32000,
          message: expect.stringMatching(/^The caller token was refused: .* The operator compares the clock/),
          data: { 'sallyport/error': { kind: 'refused' } },
        })
      }
    const written = JSON.stringify([client.received, bugs])
    for (const token of bad)
      if (typeof token === 'string' && token.includes('.')) expect(written).not.toContain(token.slice(-40))
  })

  test('shows the token to no handler, and in no log', async () => {
    const server = createServer()
    server.tool('bug', { description: '', permission: READ }, (args, context) => {
      throw new Error(JSON.stringify([args, context, getSessionId()]))
    })
    const client = openClient(server)
    const token = gateway.token()
    await client.requestModern('tools/call', { name: 'bug', ...withToken(token) })
    expect(bugs).toHaveLength(1)
    expect(`${bugs[0]?.error} ${JSON.stringify([client.received, bugs])}`).not.toContain(token.slice(-40))
  })

  test('cancels a call whose token is still being verified, and answers its id once', async () => {
    const client = openClient()
    await client.initialize()
    const id = client.start('tools/call', { name: 'whoami', ...withToken(gateway.token()) })
    client.send({ jsonrpc: '2.0', id, method: 'ping' })
    expect((await client.waitForAnswer(id)).error.message).toContain('still in flight')
    client.notify('notifications/cancelled', { requestId: id })
    client.send({ jsonrpc: '2.0', id, method: 'tools/list' })
    await call(client, 'whoami')
    const answers = client.received.filter((message) => message.id === id)
    expect(answers.map(({ result }) => result !== undefined && Object.keys(result))).toEqual([false, ['tools']])
  })

  test('acts for nobody else on a connection with an identity of its own', async () => {
    const client = openClient(createServer(), { userId: 'ada', sessionId: 'direct' })
    expect(textOf(await client.requestModern('tools/call', { name: 'whoami' }))).toContain('direct')
    expect(textOf(await call(client, 'whoami'))).toContain('"sessionId":"work"')
    expect((await call(client, 'whoami', { sub: 'bob' })).error.message).toContain('different users')
  })
})

describe(`${promise('SEN-19')} the label in a caller token`, () => {
  test('is valid in this server at once, and for good', async () => {
    const client = openClient()
    const { result } = await call(client, 'label', { label: 'CONFIDENTIAL', private: true })
    expect(result.structuredContent).toMatchObject({ sensitivity: 'CONFIDENTIAL', isPrivate: true })
    // A later token with a lower label lowers nothing, in this process and in any other.
    expect((await call(openClient(), 'label')).result.structuredContent.sensitivity).toBe('CONFIDENTIAL')
    expect((await call(client, 'label', { session: 'other' })).result.structuredContent.sensitivity).toBe('PUBLIC')
    const stored = await openLabelStore(join(dataFolder, 'labels')).read({ userId: 'ada', sessionId: 'work' })
    expect(stored.sensitivity).toBe('CONFIDENTIAL')
  })

  test('is not returned to the gateway as data of the server, unless the gateway has forgotten it', async () => {
    const client = openClient()
    const claimOf = async (tool: string, claims: JsonObject) =>
      (await call(client, tool, claims)).result._meta?.['sallyport/private_data']
    expect(await claimOf('label', { label: 'SECRET', private: true })).toBeUndefined()
    expect(await claimOf('load', { label: 'SECRET', private: true })).toEqual({
      sensitivity: 'CONFIDENTIAL',
      datasets: [{ name: 'salaries', sensitivity: 'CONFIDENTIAL' }],
    })
    expect(await claimOf('label', { label: 'CONFIDENTIAL', private: true })).toMatchObject({
      sensitivity: 'SECRET',
      datasets: [{ name: 'gateway', sensitivity: 'SECRET' }, { name: 'salaries' }],
    })
  })

  test('and the label of the server itself are merged by maximum', async () => {
    const client = openClient()
    await call(client, 'load')
    expect((await call(client, 'label', { label: 'INTERNAL' })).result.structuredContent.sensitivity).toBe(
      'CONFIDENTIAL',
    )
    expect((await call(client, 'label', { label: 'SECRET' })).result.structuredContent.sensitivity).toBe('SECRET')
  })

  test('is stored before a handler runs; if that is impossible, the handler does not run', async () => {
    const server = createServer()
    let stored: Promise<unknown> | undefined
    server.tool('look', { description: '', permission: READ }, () => {
      stored = openLabelStore(join(dataFolder, 'labels')).read({ userId: 'ada', sessionId: 'work' })
    })
    const client = openClient(server)
    await call(client, 'look', { label: 'SECRET' })
    expect(await stored).toMatchObject({ sensitivity: 'SECRET' })
    stored = undefined
    await rm(join(dataFolder, 'labels'), { recursive: true })
    await writeFile(join(dataFolder, 'labels'), 'a file')
    expect((await call(client, 'look', { session: 'new', label: 'SECRET' })).error.message).toContain('incident')
    expect(stored).toBeUndefined()
    expect(String(bugs[0]?.error)).toContain('was not raised')
  })

  test('and the word "private" refuse tools that reach out, whatever the gateway calls private', async () => {
    const client = openClient()
    expect(textOf(await call(client, 'post'))).toBe('posted')
    expect(textOf(await call(client, 'post', { label: 'CONFIDENTIAL', private: true }))).toContain('holds private data')
    const internal = { session: 'internal', label: 'INTERNAL' }
    expect(textOf(await call(client, 'post', internal))).toBe('posted')
    const refused = await call(client, 'post', { ...internal, private: true })
    expect(textOf(refused)).toContain('is private in the gateway')
    expect(refused.result._meta['sallyport/error'].kind).toBe('refused')
    expect(textOf(await call(client, 'label', { ...internal, private: true }))).toContain('"isPrivate":true')
    // The gateway does not take it back.
    expect(textOf(await call(client, 'post', internal))).toContain('is private in the gateway')
  })
})

describe(`${promise('SEN-19')} an approval in a caller token`, () => {
  const SECRET_SESSION = { label: 'SECRET', private: true }

  test('lets one call of one tool reach out, once', async () => {
    const server = createServer()
    const client = openClient(server)
    await call(client, 'load', SECRET_SESSION)
    const token = gateway.token({ ...SECRET_SESSION, connect: { tool: 'post' } })
    const use = (name: string, peer = client) => peer.requestModern('tools/call', { name, ...withToken(token) })
    expect((await use('send')).error.message).toContain('another tool')
    expect((await client.requestModern('tools/list', withToken(token))).error.message).toContain('another tool')
    const outcomes = await Promise.all([use('post'), use('post'), use('post', openClient(createServer()))])
    expect(outcomes.filter(({ result }) => result !== undefined).map(textOf)).toEqual(['posted'])
    for (const { error } of outcomes.filter(({ result }) => result === undefined))
      expect(error.message).toContain('was used before')
    expect((await use('post', openClient(createServer()))).error.message).toContain('was used before')
    expect(textOf(await call(client, 'post', SECRET_SESSION))).toContain('was not run')
  })

  test('does not cover answers from a session that became more sensitive meanwhile', async () => {
    const server = createServer()
    const schema = { type: 'object', properties: { text: { type: 'string' } } } as const
    server.tool('ask', { description: '', permission: CONNECT }, async (_, { elicit }) => {
      await elicit({ message: 'What?', schema })
      return 'posted the answer'
    })
    const ask = async (session: string, meanwhile: JsonObject | undefined): Promise<string> => {
      const client = openClient(server)
      await client.request('initialize', {
        protocolVersion: '2025-11-25',
        capabilities: { elicitation: {} },
        clientInfo: {},
      })
      const token = gateway.token({ label: 'CONFIDENTIAL', private: true, session, connect: { tool: 'ask' } })
      const id = client.start('tools/call', { name: 'ask', ...withToken(token) })
      const question = await client.waitForNotification('elicitation/create')
      if (meanwhile !== undefined) await call(openClient(server), 'label', { ...meanwhile, session })
      client.send({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { text: 'x' } } })
      return textOf(await client.waitForAnswer(id))
    }
    expect(await ask('same', undefined)).toBe('posted the answer')
    expect(await ask('raised', { label: 'SECRET', private: true })).toContain('was not run')
  })
})

describe(`${promise('SEN-21')} a result that the gateway shapes`, () => {
  const resultOf = async (name: string, claims: JsonObject = {}) => (await call(openClient(), name, claims)).result

  test('stays whole, and names its preset', async () => {
    expect(await resultOf('log')).toMatchObject({
      content: [{ text: LONG }],
      _meta: { 'sallyport/result': { preset: 'log_search' } },
    })
    const own = await resultOf('short')
    expect(own.content[0].text).toBe(LONG)
    expect(own._meta['sallyport/result'].preset).toEqual({
      ...{ threshold: 500, previewTokens: 500, keys: 20, mediaBytes: 1_000_000 },
      ...{ rows: { head: 3, tail: 0 }, lines: { head: 50, tail: 20 }, items: { head: 10, tail: 5 } },
    })
  })

  test('stays whole as well if a function was wrapped, in tools but not in resources', async () => {
    const client = openClient()
    const wrapped = (await call(client, 'wrapped')).result
    expect([wrapped.content[0].text, wrapped._meta['sallyport/result']]).toEqual([LONG, { preset: 'sql_query' }])
    const read = await client.requestModern('resources/read', {
      uri: 'notes://long',
      ...withToken(gateway.token()),
    })
    expect(read.result.contents[0].text.length).toBeLessThan(2_100)
  })

  test('is stored nowhere, but the reader of the server stays listed', async () => {
    const server = createServer()
    server.tool('saved', { description: '', permission: READ }, async () =>
      (await currentWorkspace().listDirectory('/workspace')).entries.map(({ name }) => name),
    )
    const client = openClient(server)
    await call(client, 'log')
    expect((await call(client, 'saved')).result.structuredContent).toEqual([])
    const { tools } = (await client.requestModern('tools/list')).result
    expect(tools.map(({ name }: { name: string }) => name)).toContain('sallyport_read_result')
  })

  test('names no preset that its handler claims, and none if it has none', async () => {
    const server = createServer()
    server.tool('forge', { description: '', permission: READ }, () =>
      toolResult({ content: [], _meta: { 'sallyport/result': { preset: 'log_search' } } }),
    )
    for (const name of ['forge', 'whoami'])
      expect((await call(openClient(server), name)).result._meta).not.toHaveProperty('sallyport/result')
  })

  test('is shaped by the server if the gateway does not, or if nobody forwards the call', async () => {
    const shaped = await resultOf('log', { shapes: false })
    expect(shaped.content[0].text.length).toBeLessThan(10_100)
    expect(shaped._meta).toHaveProperty('sallyport/shaped')
    const direct = openClient(createServer({ auth: undefined as never }), { userId: 'ada', sessionId: 'direct' })
    const { result } = await direct.requestModern('tools/call', { name: 'wrapped' })
    expect(result.content[0].text.length).toBeLessThan(2_100)
  })
})
