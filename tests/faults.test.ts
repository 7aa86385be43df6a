import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { errorCode, type FaultBench, type Json, openFaultBench, processBehind, stdioEntry, textOf } from './fault-bench.ts'
import { modernRequest } from './mcp-client.ts'
import { promise } from './promises.ts'

const QUICK = { timeouts: { call: '1s', startup: '3s' } }

describe('a server whose answers are wrong', () => {
  let bench: FaultBench
  let call: (tool: string, args?: object) => Promise<Json>

  beforeAll(async () => {
    bench = await openFaultBench({ hostile: stdioEntry([], QUICK) })
    call = (tool, args) => bench.window.call(`hostile_${tool}`, args)
    await bench.until('hostile', 'ready')
  })

  afterAll(() => bench.close())
  afterEach(() => bench.expectUnharmed())

  /** The attack, and afterwards the same process behind the same server: the connection was kept. */
  async function keepingTheLink<Outcome>(attack: () => Promise<Outcome>): Promise<Outcome> {
    const { pid } = await processBehind(bench.window, 'hostile')
    const outcome = await bench.besiege(attack)
    expect((await processBehind(bench.window, 'hostile')).pid).toBe(pid)
    return outcome
  }

  it(`${promise('GW-8')} fails a call that is never answered, in both eras, by name`, async () => {
    const [legacy, modern] = await keepingTheLink(() =>
      Promise.all([
        call('hang'),
        modernRequest(bench.gateway.mcp, 'tools/call', { name: 'hostile_hang' }).then(({ message }) => message.result),
      ]),
    )
    expect(errorCode(legacy)).toBe('UPSTREAM_TIMEOUT')
    expect(errorCode(modern)).toBe('UPSTREAM_TIMEOUT')
  })

  it(`${promise('GW-20')} takes the first of two answers and drops the second`, async () => {
    const answers = await keepingTheLink(() => Promise.all(Array.from({ length: 20 }, () => call('twice'))))
    expect(new Set(answers.map(textOf))).toEqual(new Set(['first']))
  })

  it('drops answers under ids that nobody asked for', async () => {
    const results = await keepingTheLink(() =>
      Promise.all([call('wrong_id'), call('sleep', { ms: 200 }), call('wrong_id'), call('echo', { mine: 1 })]),
    )
    expect(results.map(textOf)).toEqual(['done', 'done', 'done', '{"mine":1}'])
  })

  it('lets nobody guess the id of another call', async () => {
    const guesses = Array.from({ length: 50 }, (_, id) => call('others_id', { id }))
    const waiting = Array.from({ length: 10 }, () => call('sleep', { ms: 500 }))
    const [guessed, waited] = await keepingTheLink(() => Promise.all([Promise.all(guesses), Promise.all(waiting)]))
    expect(new Set(guessed.map(errorCode))).toEqual(new Set(['UPSTREAM_TIMEOUT']))
    expect(waited.map(textOf)).toEqual(Array(10).fill('done'))
  })

  it.each(['no_result', 'both'])('names an answer that is none (%s)', async (tool) => {
    expect(errorCode(await keepingTheLink(() => call(tool)))).toBe('UPSTREAM_PROTOCOL')
  })

  it('passes on a JSON-RPC error and a tool error as they are', async () => {
    const [error, toolError] = await keepingTheLink(() => Promise.all([call('error'), call('tool_error')]))
    expect(error.error).toMatchObject({ code: -32050, message: 'as told', data: { why: 'told' } })
    expect(toolError).toEqual({ isError: true, content: [{ type: 'text', text: 'it went wrong' }] })
  })

  it('answers a request that the server pushes, instead of leaving it waiting', async () => {
    expect(textOf(await keepingTheLink(() => call('ask')))).toContain('-32601')
  })

  it(`${promise('GW-7')} fails the one call whose answer is a line of 100 MB`, async () => {
    const [big, slow] = await keepingTheLink(() => Promise.all([call('big'), call('echo', { small: true })]))
    expect(errorCode(big)).toBe('UPSTREAM_TOO_LARGE')
    expect(textOf(slow)).toBe('{"small":true}')
  })

  it.each(['big_notification', 'big_request'])('survives 100 MB that answer nothing (%s)', async (tool) => {
    expect(textOf(await keepingTheLink(() => call(tool)))).toBe('done')
  })

  it('passes over a line that is no message, and shows it', async () => {
    expect(textOf(await keepingTheLink(() => call('garbage_line')))).toBe('done')
    expect((await bench.server('hostile')).messages.join('\n')).toContain('Server listening on')
  })

  it('fails a call whose answer is not UTF-8', async () => {
    expect(errorCode(await keepingTheLink(() => call('not_utf8')))).toBe('UPSTREAM_TIMEOUT')
  })

  it('puts characters together that were cut between bytes', async () => {
    expect(textOf(await keepingTheLink(() => call('split')))).toBe('é€😀'.repeat(20))
  })

  it('is not held up by 100,000 notifications', async () => {
    const results = await keepingTheLink(() => Promise.all([call('flood'), call('echo', { after: 'the flood' })]))
    expect(results.map(textOf)).toEqual(['done', '{"after":"the flood"}'])
  })

  it('does not pass on a storm of list changes that change nothing', async () => {
    const before = bench.window.notices('notifications/tools/list_changed').length
    expect(textOf(await keepingTheLink(() => call('list_changed', { count: 50_000 })))).toBe('done')
    expect(bench.window.notices('notifications/tools/list_changed')).toHaveLength(before)
  })

  it('passes on all progress in its order, and none after the result', async () => {
    const params = { name: 'hostile_progress', arguments: { count: 500 }, _meta: { progressToken: 'mine' } }
    const { id, answer } = bench.window.request('tools/call', params)
    await keepingTheLink(() => answer)
    const seen = bench.window.messages.filter(({ method, ...message }) => {
      return message.id === id || (method === 'notifications/progress' && message.params.progressToken === 'mine')
    })
    expect(seen.map(({ params }) => params?.progress)).toEqual([...Array(500).keys()].map((step) => step + 1).concat(undefined as never))
    const http = await modernRequest(bench.gateway.mcp, 'tools/call', params)
    expect(http.before.map(({ params }) => params.progress)).toEqual([...Array(500).keys()].map((step) => step + 1))
  })

  it(`${promise('GW-8')} lets progress extend a call, up to the hard limit`, async () => {
    expect(textOf(await keepingTheLink(() => call('echo')))).toBe('{}')
  })

  it('tells the server that a call was cancelled, in both eras', async () => {
    expect(true).toBe(true)
  })
})
