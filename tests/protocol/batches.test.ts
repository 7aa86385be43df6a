import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createLocalEverything, type EverythingServer } from '../harness/everything-server.ts'
import { post } from '../harness/mcp-client.ts'
import { endProcess, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

type Message = Record<string, any>

const initialize = (protocolVersion: string): object => ({
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})
const request = (id: number | string, method: string, params: object = {}): object => ({
  ...{ jsonrpc: '2.0', id, method, params },
})
const echo = (id: number): object => request(id, 'tools/call', { name: 'one_echo', arguments: { message: `m${id}` } })
const note = { jsonrpc: '2.0', method: 'notifications/initialized' }
const response = { jsonrpc: '2.0', id: 'unknown', result: {} }

describe(`batches (${promise('GW-16')}, ${promise('GW-21')})`, () => {
  let gateway: RunningGateway
  let server: EverythingServer

  beforeAll(async () => {
    server = createLocalEverything()
    gateway = await runGateway({ config: { mcp_servers: { one: server.entry } } })
  })

  afterAll(async () => {
    await gateway?.stop()
    await server?.close()
  })

  /** Sends a value to a client's session of this version, and returns what came back. */
  type Way = (version: string) => Promise<{ send: (body: unknown) => Promise<Message> }>

  const overHttp: Way = async (version) => {
    const opened = await post(gateway.mcp, initialize(version))
    const headers = { 'mcp-session-id': String(opened.headers.get('mcp-session-id')) }
    return { send: async (body) => (await post(gateway.mcp, body, headers)).message }
  }

  const overStdio: Way = async (version) => {
    const window = openWindow(gateway)
    onTestFinished(() => endProcess(window.child))
    const lines = createInterface({ input: window.child.stdout as NodeJS.ReadableStream })
    const send = async (body: unknown): Promise<Message> => {
      const answered = new Promise<Message>((resolve) => {
        const onLine = (line: string): void => {
          const message = JSON.parse(line) as Message
          // The lists may have changed meanwhile.
          if (message.method !== undefined) return
          lines.off('line', onLine)
          resolve(message)
        }
        lines.on('line', onLine)
      })
      window.child.stdin?.write(`${JSON.stringify(body)}\n`)
      return answered
    }
    await send(initialize(version))
    return { send }
  }

  describe.each([
    ['HTTP', overHttp],
    ['stdio', overStdio],
  ] as const)('over %s', (_name, open) => {
    it('are answered by one array in 2025-03-26', async () => {
      const { send } = await open('2025-03-26')
      const answers = await send([echo(1), note, response, request('a', 'ping'), echo(2), request(3, 'no/such')])
      expect(answers.map(({ id }: Message) => id)).toEqual([1, 'a', 2, 3])
      expect(answers[0].result.content[0].text).toBe('Echo: m1')
      expect(answers[2].result.content[0].text).toBe('Echo: m2')
      expect(answers[3].error.code).toBe(-32601)
    })

    it('have no initialize, no batch within, no id twice, and only valid messages', async () => {
      const { send } = await open('2025-03-26')
      const answers = await send([initialize('2025-03-26'), [echo(1)], 7, echo(2), echo(2), request(4, 'ping')])
      expect(answers.map(({ error }: Message) => error?.code)).toEqual([
        -32600,
        -32600,
        -32600,
        undefined,
        -32600,
        undefined,
      ])
    })

    it('are refused if they are empty, too long or of another version', async () => {
      const { send } = await open('2025-03-26')
      expect(await send([])).toMatchObject({ id: null, error: { message: expect.stringContaining('empty') } })
      const long = Array.from({ length: 10_000 }, (_, id) => request(id, 'ping'))
      expect(await send(long)).toMatchObject({ error: { message: expect.stringContaining('at most 100') } })
      expect(await send(request(5, 'ping'))).toMatchObject({ id: 5, result: {} })
      const other = await open('2025-11-25')
      const refusal = { code: -32600, message: expect.stringContaining('not part of the protocol version 2025-11-25') }
      expect(await other.send([echo(1)])).toMatchObject({ error: refusal })
    })
  })

  it('have ids that a double does not represent, beside the same digits as a string', async () => {
    const opened = await post(gateway.mcp, initialize('2025-03-26'))
    const session = String(opened.headers.get('mcp-session-id'))
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const ids = ['9223372036854775808', '"9223372036854775808"', '9223372036854775809']
    const body = `[${ids.map((id) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`).join(',')}]`
    const init = { method: 'POST', headers: { ...headers, 'mcp-session-id': session }, body }
    const answer = await (await fetch(gateway.mcp, init)).text()
    expect(answer.match(/"id":[^,}]+/g)).toEqual(ids.map((id) => `"id":${id}`))
  })

  it('stream the progress of their calls before the answers', async () => {
    const opened = await post(gateway.mcp, initialize('2025-03-26'))
    const headers = { 'mcp-session-id': String(opened.headers.get('mcp-session-id')) }
    const params = {
      ...{ name: 'one_trigger_long_running_operation', arguments: { duration: 0.2, steps: 2 } },
      _meta: { progressToken: 'p' },
    }
    const { message, before } = await post(gateway.mcp, [echo(1), request(2, 'tools/call', params)], headers)
    expect(before.filter(({ method }) => method === 'notifications/progress').length).toBeGreaterThan(0)
    expect((message as unknown as Message[]).map(({ id }) => id)).toEqual([1, 2])
  })

  it('of notifications alone are accepted, and need a session', async () => {
    const opened = await post(gateway.mcp, initialize('2025-03-26'))
    const headers = { 'mcp-session-id': String(opened.headers.get('mcp-session-id')) }
    expect((await post(gateway.mcp, [note, response], headers)).status).toBe(202)
    expect((await post(gateway.mcp, [echo(1)])).status).toBe(400)
  })
})
