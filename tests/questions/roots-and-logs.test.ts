import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALL, HttpSession, ModernHttp } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { eventually } from '../harness/processes.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import { type AskingBench, accepted, elicitation, openAskingBench, outcomeOf, runOf } from './asking-bench.ts'

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const rootsOf = (name: string): Message => ({ result: { roots: [{ uri: `file:///${name}` }] } })
const log = (level: string, data: string): Message => ({
  say: { method: 'notifications/message', params: { level, data } },
})
const isQuestion = ({ id, method }: Message): boolean => id !== undefined && method !== undefined

describe(`${promise('GW-17')} the roots of a client`, () => {
  let bench: AskingBench

  beforeAll(async () => {
    const roots = { switches: ['--roots'] }
    bench = await openAskingBench({
      pipe: roots,
      http: { http: true, ...roots },
      late: { switches: ['--roots', '--answer-late'] },
    })
  })

  afterAll(() => bench.close())

  /** What a server was told of the roots in each of its sessions, by the name of the first one. */
  const toldTo = (server: string): readonly unknown[] =>
    bench
      .receivedBy(server)
      .flatMap(({ message }) => (message.roots ? [message.roots] : []))
      .map(({ result }) => result?.roots[0]?.uri)

  it.each(['pipe', 'late'])('reach %s at its start from the window whose process it is', async (server) => {
    const window = openWindow(bench.gateway)
    await window.initialize(ALL)
    const asked = window.next(isQuestion)
    const call = window.request('tools/call', runOf(server))
    const { id, method } = await asked
    expect(method).toBe('roots/list')
    window.answer(id, rootsOf(`window-of-${server}`))
    expect(outcomeOf({ answer: await call }).capabilities).toEqual(ALL)
    await eventually(
      () => toldTo(server),
      (roots) => roots.includes(`file:///window-of-${server}`),
    )
    const isTold = ({ message }: { message: Message }): boolean => message.method === 'notifications/roots/list_changed'
    const { pid } = outcomeOf({ answer: await call })
    window.notify('notifications/roots/list_changed')
    await eventually(
      () => bench.receivedBy(server).filter(isTold),
      (received) => received.length === 1,
    )
    expect(bench.receivedBy(server).filter(isTold)).toMatchObject([{ pid }])
    await window.leave()
  })

  it.each(['pipe', 'http'])('reach %s with the first call, if only calls reach the client', async (server) => {
    const session = await HttpSession.open(bench.gateway.mcp)
    const modern = new ModernHttp(bench.gateway.mcp)
    for (const [name, client] of Object.entries({ session, modern })) {
      const uri = `file:///${name}-of-${server}`
      const steps = [{ ask: [elicitation('for time')] }]
      const answerer = ({ method }: Message): Message =>
        method === 'roots/list' ? rootsOf(`${name}-of-${server}`) : accepted('Ada')
      const seen = await client.converse(runOf(server, ...steps), answerer)
      expect(seen.questions.map(({ method }) => method).sort()).toEqual(['elicitation/create', 'roots/list'])
      expect(outcomeOf(seen).answers).toEqual([accepted('Ada')])
      // Over HTTP the two answers are requests of their own: the server may end the call before it has read the other one.
      await eventually(
        () => toldTo(server),
        (roots) => roots.includes(uri),
      )
    }
  })

  it('are not awaited if the server lists nothing without them and only calls reach the client', async () => {
    const session = await HttpSession.open(bench.gateway.mcp)
    const seen = await session.converse(runOf('late'), () => rootsOf('never'))
    expect(outcomeOf(seen).answers).toEqual([])
  })

  it('are not requested on the shared connection', async () => {
    for (const server of ['pipe', 'http']) expect(toldTo(server)[0]).toBeUndefined()
  })
})

describe(`${promise('GW-17')} log messages of a server`, () => {
  let bench: AskingBench

  beforeAll(async () => {
    bench = await openAskingBench({
      pipe: {},
      http: { http: true },
      modern: { http: true, switches: ['--era', 'modern'] },
    })
  })

  afterAll(() => bench.close())

  const LEVELS = ['debug', 'info', 'warning', 'error']
  const logs = LEVELS.map((level) => log(level, `a ${level}`))
  const dataOf = (notifications: readonly Message[]): readonly unknown[] =>
    notifications.filter(({ method }) => method === 'notifications/message').map(({ params }) => params.data)

  it.each(['pipe', 'http', 'modern'])('reach a legacy client from the level that it set: %s', async (server) => {
    const session = await HttpSession.open(bench.gateway.mcp, {})
    expect(await session.request('logging/setLevel', { level: 'loud' })).toMatchObject({ error: { code: -32602 } })
    for (const [level, received] of [
      ['warning', ['a warning', 'a error']],
      ['debug', LEVELS.map((one) => `a ${one}`)],
      ['emergency', []],
    ] as const) {
      expect(await session.request('logging/setLevel', { level })).toMatchObject({ result: {} })
      const { notifications } = await session.converse(runOf(server, ...logs), () => ({}))
      expect(dataOf(notifications)).toEqual(received)
    }
  })

  it.each(['pipe', 'http', 'modern'])('reach a modern client that asked for them with the call: %s', async (server) => {
    const client = (meta: Message): ModernHttp => new ModernHttp(bench.gateway.mcp, { capabilities: {}, meta })
    const received = async (meta: Message): Promise<readonly unknown[]> =>
      dataOf((await client(meta).converse(runOf(server, ...logs), () => ({}))).notifications)
    expect(await received({ [LOG_LEVEL]: 'warning' })).toEqual(['a warning', 'a error'])
    expect(await received({})).toEqual([])
  })

  it('set a legacy server to the most verbose level that a client wants', async () => {
    const levels = bench.receivedBy('http').filter(({ message }) => message.method === 'logging/setLevel')
    expect(levels.map(({ message }) => message.params.level)).toEqual(['warning', 'debug'])
    expect(bench.receivedBy('modern').filter(({ message }) => message.method === 'logging/setLevel')).toEqual([])
  })

  it('do not reach other callers at the same time', async () => {
    const own = (name: string): readonly Message[] => [
      { gate: 10 },
      log('error', name),
      { say: { method: 'notifications/of-its-own', params: { name } } },
    ]
    const able = { extensions: { 'com.example/own': {} } }
    const sessions = await Promise.all(Array.from({ length: 10 }, () => HttpSession.open(bench.gateway.mcp, able)))
    const seen = await Promise.all(
      sessions.map((session, index) => session.converse(runOf('http', ...own(`c${index}`)), () => ({}))),
    )
    for (const [index, { notifications }] of seen.entries())
      expect(notifications.map(({ params }) => params.data ?? params.name)).toEqual([`c${index}`, `c${index}`])
    const onPipe = await Promise.all(
      sessions.map((session, index) => session.converse(runOf('pipe', ...own(`c${index}`)), () => ({}))),
    )
    // A shared pipe does not tell whose it is, but while one alone is left.
    for (const [index, { notifications }] of onPipe.entries())
      for (const { params } of notifications) expect(params.data ?? params.name).toBe(`c${index}`)
  })
})
