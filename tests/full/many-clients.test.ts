import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest, type RpcAnswer } from '../harness/mcp-client.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow, type StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const FIXTURE = join(REPOSITORY, 'tests/fixtures/shuffling-server.mjs')
const SERVERS = ['alpha', 'beta', 'gamma']
const WIDTH = 10

let remote: ChildProcess
let gateway: RunningGateway

beforeAll(async () => {
  remote = spawn(process.execPath, [FIXTURE, 'gamma', '--http'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [url] = await once(createInterface({ input: remote.stdout as NodeJS.ReadableStream }), 'line')
  const stdio = (name: string) => ({ command: 'node', args: [FIXTURE, name] })
  gateway = await runGateway({
    config: { mcp_servers: { alpha: stdio('alpha'), beta: stdio('beta'), gamma: { url } } },
  })
})

afterAll(async () => {
  await gateway.stop()
  const gone = once(remote, 'exit')
  remote.stdin?.end()
  await gone
})

interface CallOutcome {
  readonly text: string
  readonly progress: readonly string[]
}

/** Calls `<server>_echo` with a text and returns the answer with its progress. */
type Caller = (server: string, text: string) => Promise<CallOutcome>

const request = (server: string, text: string) => ({
  name: `${server}_echo`,
  arguments: { text },
  _meta: { progressToken: text },
})
const textOf = (message: RpcAnswer['message']): string => message.result?.content?.[0]?.text ?? JSON.stringify(message)
const noticeOf = ({ params }: RpcAnswer['message']): string => `${params.progressToken}=${params.message}`

async function openLegacy(): Promise<Caller> {
  const client = await LegacyClient.open(gateway.mcp)
  return async (server, text) => {
    const { message, before } = await client.request('tools/call', request(server, text))
    return { text: textOf(message), progress: before.map(noticeOf) }
  }
}

const openModern = async (): Promise<Caller> => async (server, text) => {
  const { message, before } = await modernRequest(gateway.mcp, 'tools/call', request(server, text))
  return { text: textOf(message), progress: before.map(noticeOf) }
}

async function newWindow(): Promise<StdioClient> {
  const window = openWindow(gateway)
  await window.initialize()
  return window
}

/** All windows use the same ids, so that only the connection distinguishes their answers. */
function callerOf(window: StdioClient): Caller {
  return async (server, text) => {
    const message = await window.request('tools/call', request(server, text))
    const mine = window.received.filter(({ params }) => params?.progressToken === text)
    return { text: textOf(message), progress: mine.map(noticeOf) }
  }
}

/** How many messages came to a window: one notice and one answer for each call, and the answer to its greeting. */
const heardFor = (calls: number): number => 2 * calls + 1

/** Without notifications of changed lists, which may come at any time. */
const answersIn = ({ received }: StdioClient) =>
  received.filter(({ method }) => !String(method).endsWith('/list_changed'))

/** Makes so many calls, a few at a time, and returns those that brought anything but their own answer. */
async function mixedUp(call: Caller, client: string, count: number): Promise<readonly string[]> {
  const wrong: string[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const server = SERVERS[index % SERVERS.length] as string
      const text = `${client}-${index}`
      const received = await call(server, text)
      if (received.text !== `${server}:${text}` || received.progress.join() !== `${text}=${text}`)
        wrong.push(`${server} ${text}: ${JSON.stringify(received)}`)
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, work))
  return wrong
}

const count = (type: string): number => gateway.records().filter((record) => record.type === type).length

describe(`${promise('GW-20')} many clients at once`, () => {
  it('get 10,000 interleaved answers over 50 connections of both eras, each its own and each once', async () => {
    const windows = await Promise.all(Array.from({ length: 6 }, newWindow))
    const callers = [
      ...(await Promise.all(Array.from({ length: 22 }, openLegacy))),
      ...(await Promise.all(Array.from({ length: 22 }, openModern))),
      ...windows.map(callerOf),
    ]
    const before = count('TOOL_CALL_COMPLETED')
    const wrong = await Promise.all(callers.map((call, index) => mixedUp(call, `client${index}`, 200)))
    expect(wrong.flat()).toEqual([])
    expect(count('TOOL_CALL_COMPLETED') - before).toBe(10_000)
    for (const window of windows) expect(answersIn(window)).toHaveLength(heardFor(200))
    await Promise.all(windows.map((window) => window.leave()))
  })

  it('get 500 answers over one stdio connection at the same time, each its own and each once', async () => {
    const window = await newWindow()
    const call = callerOf(window)
    const texts = Array.from({ length: 500 }, (_, index) => `at once ${index}`)
    const received = await Promise.all(texts.map((text, index) => call(SERVERS[index % 3] as string, text)))
    expect(received.map(({ text }) => text)).toEqual(texts.map((text, index) => `${SERVERS[index % 3]}:${text}`))
    expect(answersIn(window)).toHaveLength(heardFor(500))
    await window.leave()
  })

  it('use the same ids without getting each other’s answers', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => LegacyClient.open(gateway.mcp)))
    const answers = clients.map((client, index) =>
      client.request('tools/call', request('alpha', `of ${index}`), 'same'),
    )
    expect((await Promise.all(answers)).map(({ message }) => textOf(message))).toEqual(
      clients.map((_, index) => `alpha:of ${index}`),
    )
  })

  it('cannot cancel each other’s calls', async () => {
    const [one, other] = [await LegacyClient.open(gateway.mcp), await LegacyClient.open(gateway.mcp)]
    const answer = one.request('tools/call', request('beta', 'mine'), 'same')
    await other.notify('notifications/cancelled', { requestId: 'same' })
    expect(textOf((await answer).message)).toBe('beta:mine')
  })
})

describe(`${promise('GW-19')} lists`, () => {
  it('are the same on every connection, in every session, over every transport, and in the same order', async () => {
    const window = await newWindow()
    const clients = [await LegacyClient.open(gateway.mcp), await LegacyClient.open(gateway.mcp)]
    for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']) {
      const legacy = await Promise.all(clients.map(async (client) => (await client.request(method)).message.result))
      const modern = await Promise.all(
        [1, 2].map(async () => (await modernRequest(gateway.mcp, method)).message.result),
      )
      const lines = (await window.request(method)).result
      const [kind = ''] = Object.keys(lines)
      const lists = [...legacy, ...modern, lines].map((result) => JSON.stringify(result[kind]))
      expect(new Set(lists).size, method).toBe(1)
      expect(lists[0]?.length).toBeGreaterThan(50)
    }
    await window.leave()
  })
})

describe(`${promise('GW-26')} what carries data besides tools`, () => {
  const methods = [
    ['resources/read', { uri: 'test://shared' }, 'alpha'],
    ['resources/read', { uri: 'test://beta' }, 'beta'],
    ['resources/read', { uri: 'gamma://any/path' }, 'gamma'],
    ['prompts/get', { name: 'gamma_greet' }, 'gamma'],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'beta_greet' }, argument: { name: 'a', value: '' } },
      'beta',
    ],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'test://gamma' }, argument: { name: 'a', value: '' } },
      'gamma',
    ],
  ] as const

  it.each(methods)('goes to its owner and is recorded: %s %j', async (method, params, owner) => {
    const client = await LegacyClient.open(gateway.mcp)
    const seen = gateway.records().length
    expect(JSON.stringify((await client.request(method, params)).message.result)).toContain(`"${owner}"`)
    const records = gateway.records().slice(seen)
    expect(records).toMatchObject([
      { type: 'TOOL_CALL_STARTED', method, server: owner },
      { type: 'TOOL_CALL_COMPLETED', method, server: owner, success: true },
    ])
  })

  it.each(['test://nobody', 'alpha:/x', 'file:///etc/passwd', 'TEST://SHARED'])(
    'is not sent to servers that do not own it: %s',
    async (uri) => {
      const client = await LegacyClient.open(gateway.mcp)
      expect((await client.request('resources/read', { uri })).message.error.code).toBe(-32002)
    },
  )
})
