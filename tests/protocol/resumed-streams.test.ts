import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type FaultBench, openFaultBench, stdioEntry } from '../faults/fault-bench.ts'
import { type CuttingProxy, openCuttingProxy } from '../harness/cutting-proxy.ts'
import { EventReader } from '../harness/event-reader.ts'
import { LegacyClient, post } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { rawRequest, say } from '../harness/raw-http.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const RESOURCE_SERVER = join(REPOSITORY, 'tests/fixtures/resource-server.mjs')

let bench: FaultBench
let proxy: CuttingProxy
const readers: EventReader[] = []

beforeAll(async () => {
  proxy = await openCuttingProxy()
  const settings = { gateway: { allowed_hosts: [`127.0.0.1:${proxy.port}`] } }
  const news = { command: process.execPath, args: [RESOURCE_SERVER, 'a://news'] }
  const hasty = stdioEntry([], { timeouts: { call: '1s', max: '1s' } })
  bench = await openFaultBench({ news, hasty }, { settings })
  await bench.until('hasty', 'ready')
  proxy.target = bench.gateway.mcp
  await bench.until('news', 'ready')
})

afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.cut()))
})

afterAll(async () => {
  await bench.close()
  await proxy.close()
})

interface Call {
  readonly id?: string | number
  readonly tool?: string
  readonly server?: string
  readonly args?: object
}

async function read(session: string, more: { body?: object; headers?: Record<string, string> } = {}) {
  const reader = await EventReader.open(bench.gateway.mcp, { session, ...more })
  readers.push(reader)
  return reader
}

/** A call that speaks before it answers, so that it is a stream. */
function call(session: string, { id = 1, tool = 'tick', server = 'good', args = {} }: Call = {}): Promise<EventReader> {
  const params = { name: `${server}_${tool}`, arguments: args, _meta: { progressToken: `of ${id}` } }
  return read(session, { body: { jsonrpc: '2.0', id, method: 'tools/call', params } })
}

interface Brake {
  readonly file: string
  /** Lets the call go on to this step; to its end if there is none. */
  release(step?: number): void
}

let brakes = 0

/** Stops a call at one of its steps, so that its connection is cut before the rest, however slow the machine is. */
function brakeAt(step: number): Brake {
  const file = join(bench.gateway.home, `brake-${++brakes}`)
  const release = (next = Number.MAX_SAFE_INTEGER): void => writeFileSync(file, String(next))
  release(step)
  return { file, release }
}

const resume = (session: string, id: string): Promise<EventReader> =>
  read(session, { headers: { 'last-event-id': id } })

const openSession = async (): Promise<string> => (await LegacyClient.open(bench.gateway.mcp)).session

/** A session of a client with an age and abilities of its own. */
async function openSessionOf(protocolVersion: string, capabilities: object): Promise<string> {
  const params = { protocolVersion, capabilities, clientInfo: { name: 'own', version: '1' } }
  const { headers } = await post(bench.gateway.mcp, { jsonrpc: '2.0', id: 0, method: 'initialize', params })
  return headers.get('mcp-session-id') ?? ''
}

const untilIdle = (): Promise<unknown> =>
  eventually(
    () => bench.api('/status'),
    ({ callsInFlight }) => callsInFlight === 0,
  )

const steps = (...readers: readonly EventReader[]): readonly unknown[] =>
  readers.flatMap(({ messages }) => messages.flatMap(({ params }) => params?.progress ?? []))

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)

describe(`${promise('GW-17')} a call whose connection broke`, () => {
  it('continues where it was: every message once, in order, and the answer last', async () => {
    const session = await openSession()
    const brake = brakeAt(3)
    const first = await call(session, { args: { count: 20, ms: 5, file: brake.file } })
    await first.sees('"progress":3')
    await first.cut()
    brake.release(6)
    const second = await resume(session, first.lastId)
    await second.sees('"progress":6')
    brake.release(9)
    await second.sees('"progress":9')
    await second.cut()
    brake.release()
    const third = await resume(session, second.lastId)
    await third.ends()
    expect(steps(first, second, third)).toEqual(upTo(20))
    expect(third.messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } })
    const ids = [first, second, third]
      .flatMap(({ events }) => events.filter(({ message }) => message))
      .map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('gets its answer when it is resumed, even if it arrived while nobody was connected', async () => {
    const session = await openSession()
    const brake = brakeAt(1)
    const first = await call(session, { args: { count: 5, ms: 5, file: brake.file } })
    await first.sees('"progress":1')
    await first.cut()
    brake.release()
    await untilIdle()
    const second = await resume(session, first.lastId)
    await second.ends()
    expect(steps(first, second)).toEqual(upTo(5))
    expect(second.messages.filter(({ id }) => id === 1)).toHaveLength(1)
  })

  it('can be resumed from the first moment: its stream begins with an event that has only an id', async () => {
    const session = await openSession()
    const first = await call(session, { args: { count: 2, ms: 20 } })
    await first.ends()
    expect(first.events[0]).toMatchObject({ retry: 1_000, message: undefined })
    const again = await resume(session, first.events[0]?.id ?? '')
    await again.ends()
    expect(again.messages).toEqual(first.messages)
  })

  it('gets no such first event for a client of an older version, which would treat it as a broken message', async () => {
    const reader = await call(await openSessionOf('2025-06-18', {}), { args: { count: 1, ms: 1 } })
    await reader.ends()
    expect(reader.events.map(({ message }) => message === undefined)).toEqual([false, false])
  })

  it('sends nothing more once its client has everything', async () => {
    const session = await openSession()
    const first = await call(session, { args: { count: 1, ms: 1 } })
    await first.ends()
    for (const id of [first.lastId, first.lastId, first.events[0]?.id ?? '']) {
      const again = await resume(session, id)
      expect(again.head).toMatch(/^HTTP\/1.1 204 /)
    }
  })

  it('gets unread questions again, and continues once it has answered', async () => {
    const session = await openSessionOf('2025-11-25', { sampling: {} })
    const first = await call(session, { tool: 'ask' })
    await first.sees('sampling/createMessage')
    await first.cut()
    const second = await resume(session, first.events[0]?.id ?? '')
    await second.sees('sampling/createMessage')
    const [question] = second.messages
    expect(question).toEqual(first.messages[0])
    const result = { role: 'assistant', model: 'm', content: { type: 'text', text: 'heard' } }
    const headers = { 'mcp-session-id': session }
    await post(bench.gateway.mcp, { jsonrpc: '2.0', id: question?.id, result }, headers)
    await second.ends()
    expect(second.messages).toHaveLength(2)
    expect(JSON.stringify(second.messages[1])).toContain('heard')
  })

  it('ends by its own limits even if nobody reconnects, and reports that later', async () => {
    const session = await openSession()
    const first = await call(session, { tool: 'tick', server: 'hasty', args: { count: 1_000_000, ms: 20 } })
    await first.sees('"progress":1')
    await first.cut()
    await untilIdle()
    const second = await resume(session, first.lastId)
    await second.ends()
    expect(JSON.stringify(second.messages.at(-1))).toContain('UPSTREAM_TIMEOUT')
  })

  it('can still be cancelled while nobody is connected', async () => {
    const client = await LegacyClient.open(bench.gateway.mcp)
    const first = await call(client.session, { id: 'slow', args: { count: 1_000_000, ms: 20 } })
    await first.sees('"progress":1')
    await first.cut()
    await client.notify('notifications/cancelled', { requestId: 'slow' })
    await untilIdle()
    const second = await resume(client.session, first.lastId)
    await second.ends()
    expect(second.messages.at(-1)).toMatchObject({ id: 'slow', error: { data: { code: 'CALL_CANCELLED' } } })
  })
})

describe(`${promise('GW-17')} several streams of a session`, () => {
  it('each have their own messages, also when they are resumed', async () => {
    const session = await openSession()
    const ids = ['a', 'b', 'c']
    const brake = brakeAt(3)
    const args = { count: 10, ms: 5, file: brake.file }
    const first = await Promise.all(ids.map((id) => call(session, { id, args })))
    await Promise.all(first.map((reader) => reader.sees('"progress":3')))
    await Promise.all(first.map((reader) => reader.cut()))
    const second = await Promise.all(first.map((reader) => resume(session, reader.lastId)))
    brake.release()
    await Promise.all(second.map((reader) => reader.ends()))
    for (const [index, id] of ids.entries()) {
      const messages = [...(first[index]?.messages ?? []), ...(second[index]?.messages ?? [])]
      expect(messages.map((message) => message.id ?? message.params.progressToken)).toEqual([
        ...Array.from({ length: 10 }, () => `of ${id}`),
        id,
      ])
    }
  })

  it('go to the newest connection, and the one before it ends', async () => {
    const session = await openSession()
    const brake = brakeAt(1)
    const first = await call(session, { args: { count: 30, ms: 5, file: brake.file } })
    await first.sees('"progress":1')
    const second = await resume(session, first.lastId)
    brake.release()
    await Promise.all([first.ends(), second.ends()])
    expect(first.messages.some(({ id }) => id === 1)).toBe(false)
    expect(new Set(steps(first, second))).toEqual(new Set(upTo(30)))
  })
})

describe(`${promise('GW-17')} the stream that a client listens on`, () => {
  const announce = (): Promise<unknown> => bench.window.call('news_announce', { uri: 'a://news' })

  it('delivers what was sent while it was broken, once', async () => {
    const client = await LegacyClient.open(bench.gateway.mcp)
    await client.request('resources/subscribe', { uri: 'a://news' })
    const first = await read(client.session)
    await first.sees('retry: ')
    await announce()
    await first.sees('resources/updated')
    await first.cut()
    await announce()
    const second = await resume(client.session, first.lastId)
    await second.sees('resources/updated')
    const third = await resume(client.session, second.lastId)
    await announce()
    await third.sees('resources/updated')
    expect([first, second, third].map(({ messages }) => messages.length)).toEqual([1, 1, 1])
  })

  it('stores nothing for a client without an event id', async () => {
    const client = await LegacyClient.open(bench.gateway.mcp)
    await client.request('resources/subscribe', { uri: 'a://news' })
    const first = await read(client.session)
    await first.cut()
    await announce()
    const second = await read(client.session)
    await announce()
    await second.sees('resources/updated')
    expect(second.messages).toHaveLength(1)
  })
})

describe(`${promise('GW-17')} an event id`, () => {
  it('that is unknown gets a stream from now on, whatever it looks like', async () => {
    const session = await openSession()
    const reader = await call(session, { args: { count: 1, ms: 1 } })
    await reader.ends()
    const tag = session.slice(0, 8)
    const hostile = [
      `${tag}-1-999`,
      `${tag}-9-0`,
      `${tag}--1-0`,
      `${tag}-1-0x1`,
      `${tag}-1-1e3`,
      `${tag}-999999999999999999999-0`,
      '00000000-1-0',
      '__proto__',
      '%00',
      '../../etc/passwd',
      'x'.repeat(10_000),
      `${tag}-1-0, ${tag}-1-0`,
    ]
    for (const id of hostile) {
      const fresh = await resume(session, id)
      await fresh.sees('retry: ')
      expect(fresh.head, id).toMatch(/^HTTP\/1.1 200 /)
      expect(fresh.messages).toEqual([])
    }
  })

  it('of another session delivers nothing of that session', async () => {
    const [own, foreign] = [await openSession(), await openSession()]
    const reader = await call(foreign, { args: { count: 3, ms: 1 } })
    await reader.ends()
    const thief = await resume(own, reader.events[0]?.id ?? '')
    await thief.sees('retry: ')
    expect(thief.messages).toEqual([])
    expect(thief.lastId.startsWith(own.slice(0, 8))).toBe(true)
  })

  it('does not work for another caller, or once its session has ended', async () => {
    const session = await openSession()
    const reader = await call(session, { args: { count: 1, ms: 1 } })
    await reader.ends()
    const id = reader.events[0]?.id ?? ''
    const { mcp } = bench.gateway
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session, 'last-event-id': id }
    const asOther = await say(mcp, rawRequest(mcp, { verb: 'GET', target: '/mcp/codex.other', headers }))
    expect(asOther.status).toBe(404)
    await say(mcp, rawRequest(mcp, { verb: 'DELETE', headers }))
    expect((await resume(session, id)).head).toMatch(/^HTTP\/1.1 404 /)
  })
})

describe(`${promise('GW-17')} a v1 client behind a proxy that cuts its connections`, () => {
  it('gets all progress and the answer, by itself', async () => {
    const client = new Client({ name: 'cut off', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${proxy.port}/mcp`)) as never)
    const seen: number[] = []
    const onprogress = ({ progress }: { progress: number }): void => {
      seen.push(progress)
      if (progress === 3) proxy.cut()
    }
    const asked = { name: 'good_tick', arguments: { count: 30, ms: 50 } }
    const result = await client.callTool(asked, undefined, { onprogress })
    expect(result).toMatchObject({ content: [{ text: 'done' }] })
    expect(seen).toEqual(upTo(30))
    await client.close()
  })
})
