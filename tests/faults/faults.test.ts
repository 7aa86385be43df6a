import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { promise } from '../promises.ts'
import {
  errorCode,
  type FaultBench,
  type Json,
  openFaultBench,
  processBehind,
  stdioEntry,
  textOf,
} from './fault-bench.ts'

const steps = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

describe('a server whose answers are wrong', () => {
  let bench: FaultBench
  let call: (tool: string, args?: object) => Promise<Json>

  beforeAll(async () => {
    bench = await openFaultBench({
      hostile: stdioEntry(),
      hurried: stdioEntry([], { timeouts: { call: '1s', max: '4s' } }),
    })
    call = (tool, args) => bench.window.call(tool, args)
    await Promise.all([bench.until('hostile', 'ready'), bench.until('hurried', 'ready')])
  })

  afterAll(() => bench.close())
  afterEach(() => bench.expectUnharmed())

  /** The attack, and afterwards the same processes behind the servers: no connection was given up for it. */
  async function keepingTheLink<Outcome>(attack: () => Promise<Outcome>): Promise<Outcome> {
    const pids = (): Promise<number[]> =>
      Promise.all(['hostile', 'hurried'].map(async (id) => (await processBehind(bench.window, id)).pid))
    const before = await pids()
    const outcome = await bench.besiege(attack)
    expect(await pids()).toEqual(before)
    return outcome
  }

  it(`${promise('GW-8')} fails a call that is never answered, with the server’s name and in both eras, and cancels it`, async () => {
    const seen = async (): Promise<number> => JSON.parse(textOf(await call('hurried_seen'))).cancelled
    const before = await seen()
    const [legacy, modern] = await keepingTheLink(() =>
      Promise.all([
        call('hurried_hang'),
        modernRequest(bench.gateway.mcp, 'tools/call', { name: 'hurried_hang' }).then(({ message }) => message.result),
      ]),
    )
    expect(errorCode(legacy)).toBe('UPSTREAM_TIMEOUT')
    expect(errorCode(modern)).toBe('UPSTREAM_TIMEOUT')
    expect(await seen()).toBe(before + 2)
  })

  it(`${promise('GW-8')} lets progress extend a call, but not beyond the hard limit`, async () => {
    const tick = (count: number, ms: number): Promise<Json> => {
      const params = { name: 'hurried_tick', arguments: { count, ms }, _meta: { progressToken: `tick-${ms}` } }
      return bench.window.request('tools/call', params).then(({ result }) => result)
    }
    const [long, endless] = await keepingTheLink(() => Promise.all([tick(15, 100), tick(10_000, 50)]))
    expect(textOf(long)).toBe('done')
    expect(errorCode(endless)).toBe('UPSTREAM_TIMEOUT')
  })

  it(`${promise('GW-20')} takes the first of two answers and drops the second`, async () => {
    const answers = await keepingTheLink(() => Promise.all(steps(20).map(() => call('hostile_twice'))))
    expect(new Set(answers.map(textOf))).toEqual(new Set(['first']))
  })

  it(`${promise('GW-20')} drops answers under ids that nobody asked for`, async () => {
    const results = await keepingTheLink(() =>
      Promise.all([
        call('hostile_wrong_id'),
        call('hostile_sleep', { ms: 200 }),
        call('hostile_wrong_id'),
        call('hostile_echo', { mine: 1 }),
      ]),
    )
    expect(results.map(textOf)).toEqual(['done', 'done', 'done', '{"mine":1}'])
  })

  it(`${promise('GW-20')} lets no server guess the id of another call`, async () => {
    const [guessed, waited] = await keepingTheLink(() =>
      Promise.all([
        Promise.all(steps(50).map((id) => call('hurried_others_id', { id }))),
        Promise.all(steps(10).map(() => call('hurried_sleep', { ms: 200 }))),
      ]),
    )
    expect(new Set(guessed.map(errorCode))).toEqual(new Set(['UPSTREAM_TIMEOUT']))
    expect(new Set(waited.map(textOf))).toEqual(new Set(['done']))
  })

  it.each(['no_result', 'both'])('reports an invalid answer (%s)', async (tool) => {
    expect(errorCode(await keepingTheLink(() => call(`hostile_${tool}`)))).toBe('UPSTREAM_PROTOCOL')
  })

  it('passes on a JSON-RPC error and a tool error as they are', async () => {
    const results = await keepingTheLink(() => Promise.all([call('hostile_error'), call('hostile_tool_error')]))
    expect(results[0]?.error).toMatchObject({ code: -32050, message: 'as told', data: { why: 'told' } })
    expect(results[1]).toEqual({ isError: true, content: [{ type: 'text', text: 'it went wrong' }] })
  })

  it('answers a request that the server pushes, instead of leaving it waiting', async () => {
    expect(textOf(await call('hostile_ask'))).toContain('-32601')
  })

  it(`${promise('GW-7')} fails the one call whose answer is a line of 100 MB`, async () => {
    const [big, small] = await keepingTheLink(() =>
      Promise.all([call('hostile_big'), call('hostile_echo', { small: true })]),
    )
    expect(errorCode(big)).toBe('UPSTREAM_TOO_LARGE')
    expect(textOf(small)).toBe('{"small":true}')
  })

  it.each(['big_notification', 'big_request'])('survives 100 MB that are not an answer (%s)', async (tool) => {
    expect(textOf(await keepingTheLink(() => call(`hostile_${tool}`)))).toBe('done')
  })

  it(`${promise('GW-7')} ignores a line that is not a message, and shows it without its control characters`, async () => {
    expect(textOf(await keepingTheLink(() => call('hostile_garbage_line')))).toBe('done')
    const shown = (await bench.server('hostile')).messages.join('\n')
    expect(shown).toContain('Server listening on')
    expect(shown).not.toContain('\u001b')
  })

  it('drops an answer that is not UTF-8', async () => {
    expect(errorCode(await keepingTheLink(() => call('hurried_not_utf8')))).toBe('UPSTREAM_TIMEOUT')
  })

  it(`${promise('GW-7')} joins characters that were cut between bytes`, async () => {
    expect(textOf(await keepingTheLink(() => call('hostile_split')))).toBe('é€😀'.repeat(20))
  })

  it('is not blocked by 100,000 notifications or 10 MB on stderr', async () => {
    const results = await keepingTheLink(() =>
      Promise.all([
        call('hostile_flood'),
        call('hostile_stderr', { bytes: 10_000_000 }),
        call('hostile_echo', { after: 'the flood' }),
      ]),
    )
    expect(results.map(textOf)).toEqual(['done', 'done', '{"after":"the flood"}'])
  })

  it('passes on all progress in order, and none after the result', async () => {
    const params = { name: 'hostile_progress', arguments: { count: 500 }, _meta: { progressToken: 'mine' } }
    const { id } = await keepingTheLink(() => bench.window.request('tools/call', params))
    const messages = bench.window.received.filter(
      (received) => received.id === id || received.params?.progressToken === 'mine',
    )
    expect(messages.map((received) => received.params?.progress)).toEqual([...steps(500), undefined])

    const { before, message } = await modernRequest(bench.gateway.mcp, 'tools/call', params)
    expect(before.map((notice) => notice.params.progress)).toEqual(steps(500))
    expect(textOf(message.result)).toBe('done')
  })

  it('passes a cancellation on to the server, in both eras', async () => {
    const cancelled = async (): Promise<number> => JSON.parse(textOf(await call('hostile_seen'))).cancelled
    const untilInFlight = (count: number): Promise<unknown> =>
      eventually(
        () => bench.api('/status'),
        ({ callsInFlight }) => callsInFlight === count,
      )
    const before = await cancelled()
    const client = await LegacyClient.open(bench.gateway.mcp)
    const asked = client.request('tools/call', { name: 'hostile_hang' }, 'to-be-cancelled')
    const leaving = new AbortController()
    const body = { ...modernCall('hostile_hang'), signal: leaving.signal }
    const left = fetch(bench.gateway.mcp, body).catch(() => 'left')
    await untilInFlight(2)
    await client.notify('notifications/cancelled', { requestId: 'to-be-cancelled' })
    expect((await asked).message.error.data).toMatchObject({ code: 'CALL_CANCELLED' })
    leaving.abort()
    expect(await left).toBe('left')
    await untilInFlight(0)
    expect(await cancelled()).toBe(before + 2)
  })

  it('gives no answer to a call that a window has cancelled', async () => {
    const id = 'window-cancelled'
    const say = (message: object): void =>
      void bench.window.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    say({ id, method: 'tools/call', params: { name: 'hostile_hang' } })
    say({ method: 'notifications/cancelled', params: { requestId: id } })
    await eventually(
      () => bench.gateway.records(),
      (records) =>
        records.some(({ error, tool_name }) => error === 'CALL_CANCELLED' && tool_name === 'mcp__hostile__hang'),
    )
    await call('hostile_echo')
    expect(bench.window.received.filter((received) => received.id === id)).toEqual([])
  })
})

describe('a server with unusual output', () => {
  const STRANGE = ['garbage', 'bom', 'crlf', 'one-byte']
  let bench: FaultBench

  beforeAll(async () => {
    const strange = Object.fromEntries(STRANGE.map((name) => [name, stdioEntry([name])]))
    bench = await openFaultBench({
      ...strange,
      flooding: stdioEntry(['stderr-flood']),
      stormy: stdioEntry(['list-changed-storm=20000']),
      mixed: stdioEntry(['bad-tool']),
    })
    await Promise.all([...STRANGE, 'flooding', 'stormy', 'mixed'].map((id) => bench.until(id, 'ready')))
  })

  afterAll(() => bench.close())
  afterEach(() => bench.expectUnharmed())

  it.each(STRANGE)(`${promise('GW-7')} is understood (%s)`, async (name) => {
    const results = await bench.besiege(() =>
      Promise.all(steps(5).map((step) => bench.window.call(`${name.replace('-', '_')}_echo`, { step }))),
    )
    expect(results.map(textOf)).toEqual(steps(5).map((step) => JSON.stringify({ step })))
  })

  it(`${promise('GW-7')} has its byte order marks and its garbage reported`, async () => {
    expect((await bench.server('bom')).messages.join('\n')).toContain('byte order mark')
    expect((await bench.server('garbage')).messages.join('\n')).toContain('is not a message')
  })

  it('has the last of 10 MB of stderr shown, and no more than that', async () => {
    const { messages } = await bench.server('flooding')
    expect(messages).toContain('the last word')
    expect(messages.length).toBeLessThanOrEqual(101)
    expect(messages[0]).toMatch(/^… \d+ earlier lines/)
    expect(messages.join('')).not.toContain('\u001b')
  })

  it('loses only its one broken tool of 100, and that one is named', async () => {
    const listed = (await bench.window.toolNames()).filter((name) => name.startsWith('mixed_tool_'))
    expect(listed).toContain('mixed_tool_49')
    expect(listed).toContain('mixed_tool_99')
    expect(listed).not.toContain('mixed_tool_50')
    expect((await bench.server('mixed')).leftOut).toMatchObject([{ name: 'tool-50' }])
    expect(textOf(await bench.window.call('mixed_tool_51'))).toBe('tool-51')
  })

  it('is asked for its lists once, not once for each of 20,000 announcements', async () => {
    const { listed } = JSON.parse(textOf(await bench.besiege(() => bench.window.call('stormy_seen'))))
    expect(listed).toBeLessThan(20)
  })
})

function modernCall(name: string): RequestInit {
  const version = '2026-07-28'
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'leaving', method: 'tools/call', params: { name, _meta } }),
  }
}
