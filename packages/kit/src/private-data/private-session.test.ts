import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { ownerFolder } from '../identity/identity.ts'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import type { Bug, ServerOptions } from '../offers/definitions.ts'
import { CONNECT, READ, WRITE } from '../permission.ts'
import { RawClient } from '../raw-client.test-kit.ts'
import { connectInMemory, type InMemoryClient } from '../testing/testing.ts'
import { ToolRetryError } from '../tool-error.ts'
import { openLabelStore } from './label-store.ts'
import { privateData } from './session-data.ts'
import { readLabelMeta } from './signed-label.ts'

const ADA = { userId: 'ada', sessionId: 'one' }
const KEY = 'sallyport/private_data'
const LOAD = {
  type: 'object',
  properties: { name: { type: 'string' }, sensitivity: { enum: ['PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'SECRET'] } },
  required: ['name', 'sensitivity'],
} as const

let dataFolder: string
let bugs: Bug[]
let sent: number

beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'private-session-'))
  bugs = []
  sent = 0
})

afterEach(() => rm(dataFolder, { recursive: true, force: true }))

function createServer(options: Partial<ServerOptions> = {}): McpServer {
  const server = createMcpServer('sample', { version: '1', dataFolder, onBug: (bug) => bugs.push(bug), ...options })
  server.tool('load', { description: '', permission: READ, input: LOAD }, async ({ name, sensitivity }) => {
    await privateData().addPrivateDataset(name, sensitivity)
    return 'loaded'
  })
  server.tool('send', { description: '', permission: [READ, CONNECT] }, () => {
    sent++
    return 'sent'
  })
  server.tool('note', { description: '', permission: WRITE }, () => 'noted')
  return server
}

const load = (client: InMemoryClient, name: string, sensitivity: string) =>
  client.callTool('load', { name, sensitivity })

const elsewhere = () => openLabelStore(join(dataFolder, 'labels'))

describe.each(['legacy', 'modern'] as const)(`tools that reach out, in the %s era (${promise('KIT-5')})`, (era) => {
  test('one runs until the session holds private data, and is then refused before its handler runs', async () => {
    const client = await connectInMemory(createServer(), { ...ADA, era })
    expect(await client.callTool('send')).toMatchObject({ content: [{ text: 'sent' }] })
    await load(client, 'weather', 'PUBLIC')
    await load(client, 'handbook', 'INTERNAL')
    expect(await client.callTool('send')).toMatchObject({ content: [{ text: 'sent' }] })
    await load(client, 'payroll', 'CONFIDENTIAL')
    const refused = await client.callTool('send')
    expect(refused.isError).toBe(true)
    expect(refused.content).toEqual([
      {
        type: 'text',
        text: expect.stringMatching(
          /^send was not run: it reaches out \(CONNECT\), and this session holds private data \(CONFIDENTIAL: "payroll"\)\. Continue with/,
        ),
      },
    ])
    expect(refused._meta?.['sallyport/error']).toMatchObject({
      kind: 'refused',
      next_step: expect.stringContaining('new session'),
    })
    expect(sent).toBe(2)
    expect(await client.callTool('note')).toMatchObject({ content: [{ text: 'noted' }] })
    expect((await client.listTools()).map(({ name }) => name)).toContain('send')
  })
})

const RAISER = `
  import { openLabelStore } from '@sallyport/kit'
  await openLabelStore(process.argv[1]).raise({ userId: 'ada', sessionId: 'one' }, 'payroll', 'SECRET')
`

test('what another process raised for the session takes effect at the next call, but not in another session', async () => {
  const client = await connectInMemory(createServer(), ADA)
  expect((await client.callTool('send')).isError).toBeUndefined()
  const args = ['--input-type=module', '-e', RAISER, join(dataFolder, 'labels')]
  await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
  expect((await client.callTool('send')).isError).toBe(true)
  const other = await connectInMemory(createServer(), { ...ADA, sessionId: 'two' })
  expect((await other.callTool('send')).isError).toBeUndefined()
})

test('a call that began before the label rose is neither stopped nor aborted', async () => {
  const server = createServer()
  let release = (): void => undefined
  const signals: AbortSignal[] = []
  server.tool('upload', { description: '', permission: CONNECT }, async (_, { signal }) => {
    signals.push(signal)
    await new Promise<void>((resolve) => {
      release = resolve
      began()
    })
    return { stillAllowed: !(await privateData().isPrivate()) }
  })
  let began = (): void => undefined
  const beginning = new Promise<void>((resolve) => {
    began = resolve
  })
  const client = await connectInMemory(server, ADA)
  const running = client.callTool('upload')
  await beginning
  await load(client, 'payroll', 'SECRET')
  expect(signals[0]?.aborted).toBe(false)
  release()
  expect(await running).toMatchObject({
    structuredContent: { stillAllowed: false },
    _meta: { [KEY]: { sensitivity: 'SECRET' } },
  })
})

test.each(['legacy', 'modern'] as const)(
  'a call of the %s era that is told something after the label rose goes no further',
  async (era) => {
    const server = createServer()
    const schema = { type: 'object', properties: { text: { type: 'string' } } } as const
    const told: unknown[] = []
    server.tool('post', { description: '', permission: CONNECT }, async (_, { elicit }) => {
      told.push(await elicit({ message: 'What shall I post?', schema }))
      return 'posted'
    })
    const client = await connectInMemory(server, {
      ...ADA,
      era,
      onElicit: async () => {
        if (told.length > 0) await elsewhere().raise(ADA, 'payroll', 'SECRET')
        return { action: 'accept', content: { text: 'the salaries' } }
      },
    })
    expect(await client.callTool('post')).toMatchObject({ content: [{ text: 'posted' }] })
    expect(await client.callTool('post')).toMatchObject({
      isError: true,
      _meta: { 'sallyport/error': { kind: 'refused' } },
    })
    expect(told).toHaveLength(1)
  },
)

test('the level that counts as private can be set, and an invalid level is refused at start', async () => {
  const client = await connectInMemory(createServer({ labels: { privateFrom: 'INTERNAL' } }), ADA)
  await load(client, 'handbook', 'INTERNAL')
  expect((await client.callTool('send')).isError).toBe(true)
  // @ts-expect-error: no such level
  expect(() => createServer({ labels: { privateFrom: 'TOP' } })).toThrow('labels.privateFrom is "TOP"')
})

test('a label that cannot be read counts as the strictest, without a path in the text for the model', async () => {
  const client = await connectInMemory(createServer(), ADA)
  await load(client, 'weather', 'PUBLIC')
  const [folder] = (await readdir(join(dataFolder, 'labels'))).filter((name) => name.startsWith('ada-'))
  await writeFile(join(dataFolder, 'labels', String(folder), 'strange'), '')
  const refused = await client.callTool('send')
  expect(refused).toMatchObject({ isError: true, _meta: { [KEY]: { sensitivity: 'SECRET' } } })
  expect(JSON.stringify(refused)).toContain('counts as SECRET, because its label cannot be read')
  expect(JSON.stringify(refused)).not.toContain(dataFolder)
  expect(sent).toBe(0)
})

test('names of datasets in a refusal are few, short and visible', async () => {
  const client = await connectInMemory(createServer(), ADA)
  for (const name of ['a\u202Eb', 'x'.repeat(5000), 'c', 'd', 'e']) await load(client, name, 'SECRET')
  const [block] = (await client.callTool('send')).content
  expect(String(block?.text).length).toBeLessThan(500)
  expect(block?.text).toContain('\\u202e')
  expect(block?.text).toContain('and 2 more')
})

describe(`labels in results (${promise('KIT-6')}, ${promise('SEN-1')})`, () => {
  test('a result contains the label of its session, and none if the session has no datasets', async () => {
    const client = await connectInMemory(createServer(), ADA)
    expect((await client.callTool('note'))._meta).not.toHaveProperty(KEY)
    await load(client, 'weather', 'PUBLIC')
    expect((await load(client, 'payroll', 'SECRET'))._meta?.[KEY]).toEqual({
      sensitivity: 'SECRET',
      datasets: [
        { name: 'payroll', sensitivity: 'SECRET' },
        { name: 'weather', sensitivity: 'PUBLIC' },
      ],
    })
    expect((await client.callTool('note'))._meta?.[KEY]).toMatchObject({ sensitivity: 'SECRET' })
  })

  test('an error that is thrown after raising contains it too', async () => {
    const server = createServer()
    server.tool('fail', { description: '', permission: READ }, async () => {
      await privateData().addPrivateDataset('payroll', 'SECRET')
      throw new ToolRetryError('No such person as Ada.')
    })
    const client = await connectInMemory(server, ADA)
    expect(await client.callTool('fail')).toMatchObject({ isError: true, _meta: { [KEY]: { sensitivity: 'SECRET' } } })
    expect((await elsewhere().read(ADA)).sensitivity).toBe('SECRET')
  })

  test('a result waits for the label even if its handler did not', async () => {
    const server = createServer()
    server.tool('hasty', { description: '', permission: READ }, () => {
      void privateData().addPrivateDataset('payroll', 'SECRET')
      return 'data'
    })
    const client = await connectInMemory(server, ADA)
    expect((await client.callTool('hasty'))._meta?.[KEY]).toMatchObject({ sensitivity: 'SECRET' })
    expect((await elsewhere().read(ADA)).sensitivity).toBe('SECRET')
  })

  test('a result whose label cannot be stored is withheld, even if the handler ignored the error', async () => {
    await elsewhere().raise({ userId: 'x', sessionId: 'x' }, 'x', 'PUBLIC')
    const at = ownerFolder(join(dataFolder, 'labels'), ADA.userId, ADA.sessionId)
    await writeFile(at, 'in the way')
    const server = createServer()
    const swallow = async () => {
      await privateData()
        .addPrivateDataset('payroll', 'SECRET')
        .catch(() => undefined)
      return 'the salaries'
    }
    server.tool('swallow', { description: '', permission: READ }, swallow)
    server.resource('x:pay', {}, swallow)
    const client = await connectInMemory(server, ADA)
    const withheld = await client.callTool('swallow')
    expect(withheld).toMatchObject({ isError: true, _meta: { 'sallyport/error': { kind: 'bug' } } })
    expect(JSON.stringify(withheld)).not.toMatch(/salaries|labels/)
    expect(bugs).toMatchObject([
      { where: 'the label after tool swallow', error: { cause: { code: 'STATE_UNUSABLE' } } },
    ])
    await expect(client.readResource('x:pay')).rejects.toThrow('withheld')
    await rm(at)
    expect(await client.callTool('note')).toMatchObject({ _meta: { [KEY]: { sensitivity: 'SECRET' } } })
  })

  test('resources and prompts contain it as well, in results and in errors', async () => {
    const server = createServer()
    const reader = async () => {
      await privateData().addPrivateDataset('payroll', 'SECRET')
      return 'text'
    }
    server.resource('x:pay', {}, reader)
    server.prompt('pay', {}, reader)
    server.resource('x:fail', {}, async () => {
      await reader()
      throw new ToolRetryError('Not Ada.')
    })
    const label = { [KEY]: { sensitivity: 'SECRET' } }
    for (const [sessionId, ask] of Object.entries({
      a: (client: InMemoryClient) => client.readResource('x:pay'),
      b: (client: InMemoryClient) => client.getPrompt('pay'),
    }))
      expect(await ask(await connectInMemory(server, { ...ADA, sessionId }))).toMatchObject({ _meta: label })
    const client = await connectInMemory(server, { ...ADA, sessionId: 'c' })
    await expect(client.readResource('x:fail')).rejects.toMatchObject({
      message: 'Not Ada.',
      cause: { data: { _meta: label } },
    })
  })

  test('many datasets with long names do not make a long result', async () => {
    const store = elsewhere()
    for (let index = 0; index < 200; index++) await store.raise(ADA, `${index}${'x'.repeat(5000)}`, 'INTERNAL')
    await elsewhere().raise(ADA, 'payroll', 'SECRET')
    const client = await connectInMemory(createServer(), ADA)
    const label = (await client.callTool('note'))._meta?.[KEY]
    expect(JSON.stringify(label).length).toBeLessThan(20_000)
    expect(label).toMatchObject({
      sensitivity: 'SECRET',
      datasets: expect.arrayContaining([{ name: 'payroll', sensitivity: 'SECRET' }]),
    })
  })

  test('with a secret every result is signed, and nobody can sign without it', async () => {
    const secret = 'a long enough secret for HMAC-SHA256'
    const client = await connectInMemory(createServer({ labels: { secret } }), ADA)
    const quiet = (await client.callTool('note'))._meta?.[KEY]
    expect(readLabelMeta(quiet, { secret, session: 'one' })).toMatchObject({ sensitivity: 'PUBLIC', datasets: [] })
    const loaded = (await load(client, 'payroll', 'SECRET'))._meta?.[KEY]
    expect(readLabelMeta(loaded, { secret, session: 'one' })).toMatchObject({ sensitivity: 'SECRET' })
    expect(readLabelMeta(loaded, { secret: 'another long enough secret for HMAC-SHA256' })).toBeUndefined()
    expect(JSON.stringify(loaded)).not.toContain(secret)
    expect(() => createServer({ labels: { secret: 'short' } })).toThrow('5 bytes; expected at least 32')
  })

  test('outside of a call with an identity there is no private data', async () => {
    expect(() => privateData()).toThrow('There is no caller here')
    const client = new RawClient(createServer())
    const answer = await client.requestModern('tools/call', {
      name: 'load',
      arguments: { name: 'x', sensitivity: 'SECRET' },
    })
    expect(answer.result).toMatchObject({ isError: true, _meta: { 'sallyport/error': { kind: 'bug' } } })
    expect((await client.requestModern('tools/call', { name: 'send' })).result.content).toEqual([
      { type: 'text', text: 'sent' },
    ])
  })
})

describe(`granted permissions (${promise('KIT-5')})`, () => {
  const names = async (client: InMemoryClient) => (await client.listTools()).map(({ name }) => name)

  test('a server that grants some permissions lists and runs only the tools that need no others', async () => {
    const client = await connectInMemory(createServer({ permissions: READ }), ADA)
    expect(await names(client)).toEqual(['load'])
    await expect(client.callTool('send')).rejects.toThrow('There is no tool "send" here.')
    await expect(client.callTool('note')).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    // @ts-expect-error: no such permission
    expect(() => createServer({ permissions: ['ADMIN'] })).toThrow('has the permissions ["ADMIN"]')
  })

  test.each<[string, unknown, readonly string[]]>([
    ['a list', ['READ', 'CONNECT'], ['load', 'send']],
    ['a text as scopes are written', 'read write', ['load', 'note']],
    ['nothing', [], []],
    ['words that are not known', ['ADMIN', '*', 7, null], []],
    ['something that cannot be read', { READ: true }, []],
    ['null', null, []],
    ['more than the server grants', ['READ', 'WRITE', 'CONNECT'], ['load', 'send']],
  ])('a token whose permissions are %s reduces the lists and the calls', async (_, permissions, granted) => {
    const options =
      Array.isArray(permissions) && permissions.length === 3 ? { permissions: [READ, CONNECT] as const } : {}
    const client = await connectInMemory(createServer(options), { ...ADA, claims: { permissions } as never })
    expect(await names(client)).toEqual(granted)
    for (const name of ['load', 'note', 'send']) {
      const call = client.callTool(name, { name: 'x', sensitivity: 'PUBLIC' })
      if (granted.includes(name)) expect(await call).toHaveProperty('content')
      else await expect(call).rejects.toThrow('There is no tool')
    }
  })
})
