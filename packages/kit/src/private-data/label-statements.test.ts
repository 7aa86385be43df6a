import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { FileConnector } from '../connectors/connectors.ts'
import { ownerFolder } from '../identity/identity.ts'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import type { Bug } from '../offers/definitions.ts'
import { CONNECT, READ } from '../permission.ts'
import { RawClient } from '../raw-client.test-kit.ts'
import { connectInMemory } from '../testing/testing.ts'
import { ToolRetryError } from '../tool-error.ts'
import { openLabelStore } from './label-store.ts'
import { type PrivateData, privateData } from './session-data.ts'

const ADA = { userId: 'ada', sessionId: 'one' }
const DATA = 'what the salaries are'

let dataFolder: string
let bugs: Bug[]

beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'label-statements-'))
  bugs = []
})

afterEach(() => rm(dataFolder, { recursive: true, force: true }))

const createServer = (): McpServer => createMcpServer('sample', { dataFolder, onBug: (bug) => bugs.push(bug) })
const elsewhere = () => openLabelStore(join(dataFolder, 'labels'))

const INVALID: readonly (readonly [unknown, unknown])[] = [
  ['a', 'secret'],
  ['a', 'Secret'],
  ['a', null],
  ['a', undefined],
  ['a', 3],
  ['a', Symbol('x')],
  ['a', { toString: () => 'SECRET' }],
  ['a', new String('SECRET')],
  ['a', Object.create(null)],
  [
    'a',
    {
      toString() {
        // biome-ignore lint/style/useThrowOnlyError: what an author's object does is not ours to choose
        throw undefined
      },
    },
  ],
  ['', 'SECRET'],
  [null, 'SECRET'],
  [7, 'SECRET'],
  ['x'.repeat(16_385), 'SECRET'],
]

function openGate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

type Stating = (name: never, sensitivity: never) => unknown
const state: Stating = (name, sensitivity) => privateData().addPrivateDataset(name, sensitivity)

/** The ways in which a handler can make a statement and ignore its outcome. */
const WAYS: Readonly<Record<string, Stating>> = {
  'not awaited': (name, sensitivity) => void state(name, sensitivity),
  'awaited and caught': async (name, sensitivity) => {
    try {
      await state(name, sensitivity)
    } catch {}
  },
  thrown: state,
  'caught by a promise': (name, sensitivity) => (state(name, sensitivity) as Promise<unknown>).catch(() => undefined),
  'within a timer': async (name, sensitivity) => {
    await setTimeout(1)
    void state(name, sensitivity)
  },
  'by somebody else for it': (name, sensitivity) =>
    Promise.race([Promise.resolve(), Promise.all([state(name, sensitivity)])]),
  'by work that is not awaited': (name, sensitivity) =>
    void Promise.resolve().then(() => void state(name, sensitivity)),
  'by a connector': (dataset, sensitivity) =>
    FileConnector.read('/workspace/a', { sensitive: { dataset, sensitivity } }).catch(() => undefined),
}

/** The answers of a tool, a resource and a prompt that make one statement and then return the data. */
async function answersOf(server: McpServer, stating: () => unknown): Promise<readonly string[]> {
  const handler = async (): Promise<string> => {
    await stating()
    return DATA
  }
  server.tool('load', { description: '', permission: READ }, handler)
  server.tool('fail', { description: '', permission: READ }, async () => {
    throw new ToolRetryError(await handler())
  })
  server.resource('x:load', {}, handler)
  server.prompt('load', {}, handler)
  const answers: string[] = []
  for (const era of ['legacy', 'modern'] as const) {
    const client = await connectInMemory(server, { ...ADA, era })
    for (const ask of [
      () => client.callTool('load'),
      () => client.callTool('fail'),
      () => client.readResource('x:load'),
      () => client.getPrompt('load'),
    ])
      answers.push(JSON.stringify(await ask().catch((error: Error) => `withheld? ${error.message}`)))
  }
  return answers
}

describe(`a statement about private data (${promise('KIT-6')}, ${promise('SEN-1')})`, () => {
  describe.each(Object.entries(WAYS))('that is %s', (_, way) => {
    test.each(INVALID)('and is invalid withholds every result: %j %j', async (name, sensitivity) => {
      const answers = await answersOf(createServer(), () => way(name as never, sensitivity as never))
      for (const answer of answers) {
        expect(answer).toContain('withheld')
        expect(answer).not.toContain('salaries')
      }
      expect(bugs.length).toBeGreaterThanOrEqual(answers.length)
      expect((await elsewhere().read(ADA)).sensitivity).toBe('SECRET')
    })

    test('and cannot be stored withholds every result', async () => {
      await elsewhere().raise({ userId: 'x', sessionId: 'x' }, 'x', 'PUBLIC')
      await writeFile(ownerFolder(join(dataFolder, 'labels'), ADA.userId, ADA.sessionId), 'in the way')
      for (const answer of await answersOf(createServer(), () => way('pay' as never, 'SECRET' as never))) {
        expect(answer).toContain('withheld')
        expect(answer).not.toContain('salaries')
      }
    })

    test('and is valid is stored when the result arrives, and labels it', async () => {
      for (const answer of await answersOf(createServer(), () => way('pay' as never, 'SECRET' as never)))
        expect(answer).toContain('salaries')
      expect((await elsewhere().read(ADA)).sensitivity).toBe('SECRET')
    })
  })

  test('stops all further messages of the call once one failed', async () => {
    const server = createServer()
    server.tool('load', { description: '', permission: READ }, (_, context) => {
      context.log('info', 'before')
      void state('a' as never, 'secret' as never)
      context.log('info', DATA)
      context.progress(1, 2, DATA)
      const schema = { type: 'object', properties: {} } as const
      return context.elicit({ message: DATA, schema })
    })
    for (const era of ['legacy', 'modern'] as const) {
      const asked: unknown[] = []
      const onElicit = (form: unknown) => {
        asked.push(form)
        return { action: 'cancel' } as const
      }
      const client = await connectInMemory(server, { ...ADA, era, onElicit })
      expect(await client.callTool('load', {}, { onProgress: (update) => asked.push(update) })).toMatchObject({
        isError: true,
      })
      expect(asked).toEqual([])
      expect(JSON.stringify(client.notifications)).toContain('before')
      expect(JSON.stringify(client.notifications)).not.toContain('salaries')
    }
  })

  test('holds back further messages of the call until it is stored, and then asks', async () => {
    const server = createServer()
    const schema = { type: 'object', properties: {} } as const
    server.tool('load', { description: '', permission: READ }, async (_, context) => {
      void state('pay' as never, 'SECRET' as never)
      context.log('info', DATA)
      context.progress(1, 2, DATA)
      const { action } = await context.elicit({ message: 'May I?', schema })
      context.log('info', 'after')
      return action
    })
    for (const era of ['legacy', 'modern'] as const) {
      const session = { userId: 'ada', sessionId: era }
      const known: unknown[] = []
      const onElicit = async () => {
        known.push((await elsewhere().read(session)).sensitivity)
        return { action: 'cancel' } as const
      }
      const client = await connectInMemory(server, { ...session, era, onElicit })
      expect(await client.callTool('load', {}, { onProgress: (update) => known.push(update) })).toMatchObject({
        content: [{ text: 'cancel' }],
      })
      expect(known).toEqual(['SECRET'])
      expect(JSON.stringify(client.notifications)).toContain('after')
      expect(JSON.stringify(client.notifications)).not.toContain('salaries')
    }
  })

  test('is in the `_meta` of what the call asks, for whoever passes the question on', async () => {
    const server = createServer()
    server.tool('load', { description: '', permission: READ }, async (_, context) => {
      void state('pay' as never, 'SECRET' as never)
      await Promise.all([context.elicit({ message: DATA, schema }), context.elicit({ message: 'More?', schema })])
    })
    const schema = { type: 'object', properties: {} } as const
    const capabilities = { elicitation: {} }
    const label = { sensitivity: 'SECRET', datasets: [{ name: 'pay', sensitivity: 'SECRET' }] }
    const legacy = new RawClient(server, ADA)
    await legacy.request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: {} })
    legacy.start('tools/call', { name: 'load' })
    const question = await legacy.waitForNotification('elicitation/create')
    expect(question.params).toMatchObject({ message: DATA, _meta: { 'sallyport/private_data': label } })
    const modern = new RawClient(server, ADA)
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities }
    const { result } = await modern.requestModern('tools/call', { name: 'load', _meta })
    expect(Object.keys(result.inputRequests)).toHaveLength(2)
    expect(result).toMatchObject({ resultType: 'input_required', _meta: { 'sallyport/private_data': label } })
    for (const { connection } of [legacy, modern]) connection.close()
  })

  test('sends and asks nothing more once it could not be stored', async () => {
    await elsewhere().raise({ userId: 'x', sessionId: 'x' }, 'x', 'PUBLIC')
    await writeFile(ownerFolder(join(dataFolder, 'labels'), ADA.userId, ADA.sessionId), 'in the way')
    const server = createServer()
    server.tool('load', { description: '', permission: READ }, async (_, context) => {
      await privateData()
        .addPrivateDataset('pay', 'SECRET')
        .catch(() => undefined)
      context.log('info', DATA)
      return context.elicit({ message: DATA, schema: { type: 'object', properties: {} } })
    })
    const asked: unknown[] = []
    const onElicit = (form: unknown) => {
      asked.push(form)
      return { action: 'cancel' } as const
    }
    const client = await connectInMemory(server, { ...ADA, onElicit })
    expect(await client.callTool('load')).toMatchObject({ isError: true })
    expect([asked, client.notifications]).toEqual([[], []])
  })

  test.each(['SECRET', 'secret'])(
    'is part of the result or is reported, in whichever tick it is made: %s',
    async (word) => {
      const server = createServer()
      let turns = 0
      let stating: Promise<unknown> | undefined
      server.tool('load', { description: '', permission: READ }, () => {
        stating = (async () => {
          for (let turn = 0; turn < turns; turn++) await undefined
          await state('pay' as never, word as never)
        })().catch(() => undefined)
        return DATA
      })
      for (turns = 0; turns < 30; turns++) {
        bugs = []
        const client = await connectInMemory(server, { userId: 'ada', sessionId: `after ${turns}` })
        const result = await client.callTool('load')
        await stating
        const isLabelled = result._meta?.['sallyport/private_data'] !== undefined
        expect(isLabelled || bugs.length > 0, `after ${turns} turns`).toBe(true)
      }
    },
  )

  test('by a privateData() object from a call of another session withholds the result, and names no dataset', async () => {
    const server = createServer()
    let reused: PrivateData | undefined
    server.tool('load', { description: '', permission: READ }, () => {
      reused ??= privateData()
      void reused.addPrivateDataset('pay', 'SECRET')
      return DATA
    })
    server.tool('ask', { description: '', permission: READ }, () => reused?.isPrivate())
    server.tool('note', { description: '', permission: READ }, () => 'noted')
    const ada = await connectInMemory(server, ADA)
    const bob = await connectInMemory(server, { userId: 'bob', sessionId: 'two' })
    expect(await ada.callTool('load')).toMatchObject({ content: [{ text: DATA }] })
    expect(await ada.callTool('load')).toMatchObject({ _meta: { 'sallyport/private_data': { sensitivity: 'SECRET' } } })
    const answers = [await bob.callTool('load'), await bob.callTool('ask'), await bob.callTool('note')]
    expect(answers).toMatchObject([{ isError: true }, { isError: true }, { content: [{ text: 'noted' }] }])
    expect(answers[2]?._meta).toMatchObject({ 'sallyport/private_data': { sensitivity: 'SECRET' } })
    expect(JSON.stringify(answers)).not.toMatch(/salaries|"pay"/)
  })

  test('refuses a tool that reaches out from the same tick on, stored or not', async () => {
    for (const sensitivity of ['SECRET', 'secret']) {
      const server = createServer()
      const client = await connectInMemory(server, { ...ADA, sessionId: sensitivity })
      let sending: Promise<unknown> | undefined
      server.tool('send', { description: '', permission: CONNECT }, () => 'sent')
      server.tool('load', { description: '', permission: READ }, () => {
        void state('pay' as never, sensitivity as never)
        sending = client.callTool('send')
      })
      await client.callTool('load')
      expect(await sending).toMatchObject({ isError: true, _meta: { 'sallyport/error': { kind: 'refused' } } })
    }
  })

  test.each(['SECRET', 'secret'])(
    'that comes after the result was sent is valid from then on, and is reported: %s',
    async (word) => {
      const server = createServer()
      const left = openGate()
      const stated = openGate()
      server.tool('late', { description: '', permission: READ }, () => {
        void left.promise
          .then(() => state('pay' as never, word as never))
          .then(
            () => stated.resolve(),
            () => stated.resolve(),
          )
        return 'early'
      })
      server.tool('note', { description: '', permission: READ }, () => 'noted')
      const client = await connectInMemory(server, ADA)
      expect(await client.callTool('late')).toMatchObject({ content: [{ text: 'early' }] })
      left.resolve()
      await stated.promise
      expect(bugs[0]).toMatchObject({ where: 'a label after tool late' })
      expect((await client.callTool('note'))._meta).toMatchObject({
        'sallyport/private_data': { sensitivity: 'SECRET' },
      })
    },
  )

  test('without a known caller withholds the results in flight, and nothing else', async () => {
    const server = createServer()
    const swallow = async (): Promise<string> => {
      try {
        await state('pay' as never, 'SECRET' as never)
      } catch {}
      return DATA
    }
    const gate = openGate()
    server.tool('nobody', { description: '', permission: READ }, swallow)
    server.tool('wait', { description: '', permission: READ }, () => gate.promise.then(() => DATA))
    server.tool('note', { description: '', permission: READ }, () => 'noted')
    const client = await connectInMemory(server, ADA)
    const waiting = client.callTool('wait')
    await setImmediate()
    const { result } = await new RawClient(server).requestModern('tools/call', { name: 'nobody' })
    expect(result).toMatchObject({ isError: true })
    expect(JSON.stringify(result)).not.toContain('salaries')
    gate.resolve()
    expect(await waiting).toMatchObject({ isError: true })
    expect(await client.callTool('note')).toMatchObject({ content: [{ text: 'noted' }] })
  })
})
