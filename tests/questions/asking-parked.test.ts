import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ModernHttp } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { eventually } from '../harness/processes.ts'
import { promise } from '../promises.ts'
import { type AskingBench, accepted, elicitation, openAskingBench, outcomeOf, runOf } from './asking-bench.ts'

const FORM = { elicitation: {} }
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const log = (level: string, data: string): Message => ({
  say: { method: 'notifications/message', params: { level, data } },
})

describe(`${promise('GW-16')} a modern client's call that waits at a legacy server`, () => {
  let bench: AskingBench
  let client: ModernHttp
  let stranger: ModernHttp

  beforeAll(async () => {
    bench = await openAskingBench({ asking: { http: true }, pipe: {} }, { args: [] })
    const { gateway } = bench
    const headersOf = (token: string) => ({ authorization: `Bearer ${token}` })
    const wish = { method: 'POST', body: JSON.stringify({ agent: 'codex' }) }
    const headers = { ...headersOf(gateway.token('operator')), 'content-type': 'application/json' }
    const made = (await (await fetch(`${gateway.url}/api/tokens`, { ...wish, headers })).json()) as Message
    client = new ModernHttp(gateway.mcp, { capabilities: FORM, headers: headersOf(gateway.token('agent')) })
    stranger = new ModernHttp(gateway.mcp, { capabilities: FORM, headers: headersOf(made.token) })
  })

  afterAll(() => bench.close())

  const asking = (...names: readonly string[]): Message => runOf('asking', { ask: names.map(elicitation) })
  const answers = (...keys: readonly string[]): Message =>
    Object.fromEntries(keys.map((key) => [key, accepted(key).result]))
  const keysOf = ({ inputRequests }: Message): readonly string[] => Object.keys(inputRequests)
  const calls = (text: string): number =>
    bench
      .receivedBy('asking')
      .filter(({ message }) => message.method === 'tools/call' && JSON.stringify(message).includes(text)).length

  async function parked(params: Message): Promise<Message> {
    const asked = await client.ask(params)
    expect(asked, JSON.stringify(asked)).toMatchObject({
      resultType: 'input_required',
      requestState: expect.any(String),
    })
    return asked
  }

  it('goes on with the answers, and is made once', async () => {
    const params = asking('made once')
    const asked = await parked(params)
    const [key = ''] = keysOf(asked)
    const result = await client.ask({ ...params, requestState: asked.requestState, inputResponses: answers(key) })
    expect(outcomeOf({ answer: { result } }).answers).toEqual([accepted(key)])
    expect(calls('made once')).toBe(1)
  })

  it('asks again for missing answers, and ignores answers that were not asked for', async () => {
    const params = asking('one', 'two')
    const asked = await parked(params)
    const [first = '', second = ''] = keysOf(asked)
    const { requestState } = asked
    for (const inputResponses of [{}, answers('__proto__', 'constructor', 'elicitation_99'), 'no object', undefined]) {
      const again = await client.ask({ ...params, requestState, inputResponses })
      expect(keysOf(again)).toEqual([first, second])
    }
    const half = await client.ask({ ...params, requestState, inputResponses: answers(second) })
    expect(keysOf(half)).toEqual([first])
    const changed = { ...answers(first), [second]: accepted('changed').result }
    const result = await client.ask({ ...params, requestState: half.requestState, inputResponses: changed })
    expect(outcomeOf({ answer: { result } }).answers).toEqual([accepted(first), accepted(second)])
  })

  it('refuses a state that was changed, or belongs to another call, another caller or other arguments', async () => {
    const params = asking('guarded')
    const asked = await parked(params)
    const other = await parked(asking('other'))
    const [key = ''] = keysOf(asked)
    const inputResponses = answers(key)
    const { requestState } = asked
    const [id, round, seal] = requestState.split('.')
    const refused: readonly (readonly [ModernHttp, Message, unknown])[] = [
      [client, params, `${id}.${round}.${seal.slice(0, -2)}${seal.endsWith('AA') ? 'BB' : 'AA'}`],
      [client, params, `${other.requestState.split('.')[0]}.${round}.${seal}`],
      [client, params, `${id}.99.${seal}`],
      [client, params, id],
      [client, params, ''],
      [client, params, 'x'.repeat(100_000)],
      [client, params, 7],
      [client, params, { id, seal }],
      [client, params, null],
      [client, asking('something else'), requestState],
      [client, { ...params, name: 'pipe_run' }, requestState],
      [stranger, params, requestState],
    ]
    for (const [who, what, state] of refused) {
      const { error, isError, ...rest } = await who.ask({ ...what, requestState: state, inputResponses })
      expect(
        error?.data.code ?? rest._meta?.['sallyport/error'].code,
        JSON.stringify([state, rest]).slice(0, 300),
      ).toBe('INVALID_PARAMS')
    }
    // It still waits for its own.
    const result = await client.ask({ ...params, requestState, inputResponses })
    expect(outcomeOf({ answer: { result } }).answers).toEqual([accepted(key)])
    const replayed = await client.ask({ ...params, requestState, inputResponses })
    expect(JSON.stringify(replayed)).toContain('no longer waits')
    expect(calls('guarded')).toBe(1)
  })

  it('is answered once when its client comes back twice at the same time', async () => {
    const params = runOf('asking', { ask: [elicitation('twice')] }, { gate: 2 })
    const { requestState, inputRequests } = await parked(params)
    const inputResponses = answers(...Object.keys(inputRequests))
    const first = client.ask({ ...params, requestState, inputResponses })
    const second = client.ask({ ...params, requestState, inputResponses })
    expect(JSON.stringify(await Promise.race([first, second]))).toContain('made again meanwhile')
    await client.ask(runOf('asking', { gate: 2 }))
    const results = (await Promise.all([first, second])).filter(
      ({ content }) => content && !JSON.stringify(content).includes('meanwhile'),
    )
    expect(results).toHaveLength(1)
    expect(calls('twice')).toBe(1)
  })

  it.each(['asking', 'pipe'])(
    'sends each round of %s its own notifications, and only those that it asked for',
    async (server) => {
      const steps = [log('info', 'first'), { progress: 1 }, { ask: [elicitation('?')] }]
      const later = [log('debug', 'too quiet'), log('warning', 'second'), { progress: 2 }, { ask: [elicitation('!')] }]
      const params = runOf(server, ...steps, ...later, log('error', 'third'), { progress: 3 })
      const round = async (more: Message, meta: Message): Promise<readonly [Message, readonly Message[]]> => {
        const stream = client.open({ ...params, ...more }, 'tools/call', meta)
        await stream.over
        return [stream.received.at(-1)?.result, stream.received.slice(0, -1).map(({ params }) => params)]
      }
      const [one, during] = await round({}, { [LOG_LEVEL]: 'info', progressToken: 'a' })
      expect(during).toEqual([
        { level: 'info', data: 'first' },
        { progress: 1, progressToken: 'a' },
      ])
      const back = ({ requestState, inputRequests }: Message): Message => ({
        requestState,
        inputResponses: answers(...Object.keys(inputRequests)),
      })
      const [two, second] = await round(back(one), { [LOG_LEVEL]: 'info', progressToken: 'b' })
      expect(second).toEqual([
        { level: 'warning', data: 'second' },
        { progress: 2, progressToken: 'b' },
      ])
      const [result, third] = await round(back(two), {})
      expect(third).toEqual([])
      expect(outcomeOf({ answer: { result } }).answers).toHaveLength(2)
    },
  )

  it.each(['asking', 'pipe'])('is cancelled at %s when the stream of a round is closed', async (server) => {
    const params = runOf(server, { ask: [elicitation('closed')] }, { progress: 1 }, { hang: true })
    const asked = await client.ask(params, 'tools/call', { progressToken: 'a' })
    const { requestState, inputRequests } = asked
    const inputResponses = answers(...Object.keys(inputRequests))
    const round = client.open({ ...params, requestState, inputResponses }, 'tools/call', { progressToken: 'b' })
    await round.next(({ method }) => method === 'notifications/progress')
    await round.close()
    await eventually(
      () => bench.receivedBy(server),
      (received) => received.some(({ message }) => message.method === 'notifications/cancelled'),
    )
    const again = await client.ask({ ...params, requestState, inputResponses })
    expect(JSON.stringify(again)).toMatch(/no longer waits|CALL_CANCELLED/)
  })

  it('leaves no call in flight', async () => {
    const headers = { authorization: `Bearer ${bench.gateway.token('operator')}` }
    // One call of this file is left waiting on purpose.
    await eventually(
      async () => (await (await fetch(`${bench.gateway.url}/api/status`, { headers })).json()) as Message,
      ({ callsInFlight }) => callsInFlight === 1,
    )
  })
})
