import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorCode } from '../faults/fault-bench.ts'
import { ALL, HttpSession, Window } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import {
  type AskingBench,
  accepted,
  elicitation,
  openAskingBench,
  outcomeOf,
  ROOTS,
  runOf,
  sampling,
} from './asking-bench.ts'

const isCancelled = ({ method }: Message): boolean => method === 'notifications/cancelled'
const isQuestion = ({ id, method }: Message): boolean => id !== undefined && method !== undefined

describe(`${promise('GW-17')} a question that fails`, () => {
  let bench: AskingBench

  beforeAll(async () => {
    const entry = { timeouts: { call: '1s' } }
    bench = await openAskingBench({
      pipe: {},
      http: { http: true },
      fresh: {},
      hasty: { http: true, entry },
      hastypipe: { entry },
      strays: { http: true },
      modern: { http: true, switches: ['--era', 'modern'] },
    })
    // From here on they are known to ask.
    const first = await HttpSession.open(bench.gateway.mcp)
    for (const server of ['pipe', 'http', 'hasty', 'hastypipe'])
      await first.converse(runOf(server, { ask: [ROOTS] }), () => ({ result: { roots: [] } }))
    await first.end()
  })

  afterAll(() => bench.close())

  const open = (capabilities?: object): Promise<HttpSession> => HttpSession.open(bench.gateway.mcp, capabilities)
  /** The messages that a server received in the session in which it was called with this text. */
  const heardWith = (server: string, text: string): readonly Message[] => {
    const received = bench.receivedBy(server)
    const session = received.find(
      ({ message }) => message.id && JSON.stringify(message.params ?? {}).includes(text),
    )?.session
    return received.filter((one) => one.session === session).map(({ message }) => message)
  }

  it.each(['pipe', 'http'])(
    'is cancelled at the client when %s withdraws it, and the call continues',
    async (server) => {
      const client = await open()
      const steps = [{ begin: elicitation('never') }, { ask: [elicitation('then')] }, { takeBack: true }]
      const call = client.call(runOf(server, ...steps, { ask: [elicitation('last')] }))
      const says = (text: string): Promise<Message> => call.stream.next(({ params }) => params?.message === text)
      const [taken, then] = [await says('never'), await says('then')]
      await client.answer(then.id, accepted('then'))
      expect((await call.stream.next(isCancelled)).params.requestId).toBe(taken.id)
      await client.answer(taken.id, accepted('too late'))
      await client.answer((await says('last')).id, accepted('last'))
      expect(outcomeOf({ answer: await call.reply() }).answers).toEqual([accepted('then'), accepted('last')])
      expect(heardWith(server, '"never"').filter(({ result }) => JSON.stringify(result)?.includes('too late'))).toEqual(
        [],
      )
    },
  )

  it.each(['pipe', 'http', 'modern'])(
    'ends when its call to %s is cancelled, for the client and the server',
    async (server) => {
      const client = await open()
      const name = `cancelled at ${server}`
      const call = client.call(runOf(server, { ask: [elicitation(name)] }))
      const { id } = await call.question()
      await call.cancel()
      expect((await call.stream.next(isCancelled)).params.requestId).toBe(id)
      expect((await call.reply()).error.data.code).toBe('CALL_CANCELLED')
      await client.answer(id, accepted('too late'))
      // A modern server has no call in flight then.
      if (server === 'modern') return
      const isNotified = (received: readonly Message[]): boolean => received.some(isCancelled)
      await eventually(() => heardWith(server, name), isNotified)
    },
  )

  it('ends with the conversation of a client that leaves', async () => {
    const client = await open({ elicitation: {} })
    const call = client.call(runOf('http', { ask: [elicitation('leaving over HTTP')] }))
    await call.question()
    await client.end()
    await eventually(
      () => heardWith('http', 'leaving over HTTP'),
      (received) => received.some(isCancelled),
    )
    const window = openWindow(bench.gateway)
    await window.initialize(ALL)
    const asked = window.next(isQuestion)
    void window.request('tools/call', runOf('pipe', { ask: [elicitation('leaving over lines')] })).catch(() => {})
    await asked
    await window.kill()
    const [{ pid } = { pid: 0 }] = bench
      .receivedBy('pipe')
      .filter(({ message }) => JSON.stringify(message).includes('leaving over lines'))
    await eventually(
      () => processesWith(`${bench.gateway.home}/pipe.heard`),
      (pids) => !pids.includes(pid),
    )
  })

  it('ends with the server, and the call fails', async () => {
    const client = await open()
    const dying = client.call(runOf('pipe', { ask: [elicitation('before')] }, { die: true }))
    const { id } = await dying.question()
    const other = client.call(runOf('pipe', { ask: [elicitation('while it dies')] }))
    const open_ = await other.question()
    await client.answer(id, accepted('go'))
    expect(errorCode((await dying.reply()).result)).toBe('UPSTREAM_DIED')
    expect(errorCode((await other.reply()).result)).toBe('UPSTREAM_DIED')
    expect((await other.stream.next(isCancelled)).params.requestId).toBe(open_.id)
  })

  it.each(['hasty', 'hastypipe'])('pauses the timeout of its call to %s until a person answers', async (server) => {
    const client = await open()
    const call = client.call(runOf(server, { ask: [elicitation('slow')] }, { hang: true }))
    const { id } = await call.question()
    // A clock that does run: once it has, twice, the one that was stopped would have too.
    const bystander = await open({})
    for (let round = 0; round < 2; round++) {
      const { answer } = await bystander.converse(runOf(server, { hang: true }), () => ({}))
      expect(errorCode(answer.result)).toBe('UPSTREAM_TIMEOUT')
    }
    expect(call.stream.received.filter(isCancelled)).toEqual([])
    await client.answer(id, accepted('at last'))
    expect(errorCode((await call.reply()).result)).toBe('UPSTREAM_TIMEOUT')
  })

  it('pauses the timeouts of all calls of its conversation over a pipe, and survives the end of other calls', async () => {
    const client = await open()
    const quick = client.call(runOf('hastypipe', { ask: [elicitation('first')] }))
    const first = await quick.question()
    const asking = client.call(runOf('hastypipe', { gate: 2 }, { ask: [elicitation('second')] }))
    const third = client.call(runOf('hastypipe', { gate: 2 }))
    const [, question] = await Promise.all([
      third.reply(),
      Promise.race(
        [asking, third, quick].map(({ stream }) => stream.next(({ params }) => params?.message === 'second')),
      ),
    ])
    await client.answer(first.id, accepted('one'))
    expect(outcomeOf({ answer: await quick.reply() }).answers).toEqual([accepted('one')])
    await client.answer(question.id, accepted('two'))
    expect(outcomeOf({ answer: await asking.reply() }).answers).toEqual([accepted('two')])
  })

  it('is not put to a client that did not declare it', async () => {
    const form = await open({ elicitation: {} })
    const page = { method: 'elicitation/create', params: { mode: 'url', message: 'sign', url: 'https://example.org' } }
    const none = await open({})
    for (const [client, question, lacked] of [
      [form, page, 'elicitation.url'],
      [form, sampling('x'), 'sampling'],
      [none, elicitation('x'), 'elicitation'],
      [none, ROOTS, 'roots'],
    ] as const) {
      for (const server of ['pipe', 'http']) {
        const seen = await client.converse(runOf(server, { ask: [question] }), () => accepted('?'))
        expect(seen.questions).toEqual([])
        const [{ error }] = outcomeOf(seen).answers
        expect(error).toEqual({ code: -32601, message: `The client offers no ${lacked}.` })
      }
      const { answer, questions } = await client.converse(runOf('modern', { ask: [question] }), () => accepted('?'))
      expect(questions).toEqual([])
      expect(errorCode(answer.result)).toBe('CAPABILITY_MISSING')
    }
  })

  it('of a modern server is not sent at all if one part of it cannot be asked', async () => {
    const client = await open({ elicitation: {} })
    const both = { ask: [elicitation('half'), sampling('the other half')] }
    const { answer, questions } = await client.converse(runOf('modern', both), () => accepted('?'))
    expect(questions).toEqual([])
    expect(errorCode(answer.result)).toBe('CAPABILITY_MISSING')
  })

  it('of a modern server is withdrawn if another one is refused', async () => {
    const client = await open()
    const call = client.call(runOf('modern', { ask: [elicitation('kept'), sampling('refused')] }))
    const isOf =
      (wanted: string) =>
      (message: Message): boolean =>
        message.method === wanted
    const kept = await call.stream.next(isOf('elicitation/create'))
    const refused = await call.stream.next(isOf('sampling/createMessage'))
    await client.answer(refused.id, { error: { code: -1, message: 'no' } })
    expect((await call.stream.next(isCancelled)).params.requestId).toBe(kept.id)
    expect(errorCode((await call.reply()).result)).toBe('CLIENT_REFUSED')
  })

  it('reaches a client that takes no stream as an answer over its other one, or not at all', async () => {
    const plain = { accept: 'application/json' }
    const client = await open()
    const unheard = client.call(runOf('http', { ask: [elicitation('unheard')] }), 'tools/call', plain)
    expect(outcomeOf({ answer: await unheard.reply() }).answers).toMatchObject([{ error: { code: -32603 } }])
    const stream = await client.listen()
    const received = client.call(runOf('http', { ask: [elicitation('heard')] }), 'tools/call', plain)
    const { id } = await stream.next(isQuestion)
    await client.answer(id, accepted('Ada'))
    expect(outcomeOf({ answer: await received.reply() }).answers).toEqual([accepted('Ada')])
    await stream.close()
  })

  it('accepts no answer from another session, under another id, or a second time', async () => {
    const client = await open()
    const other = await open()
    const call = client.call(runOf('http', { ask: [elicitation('mine')] }, { ask: [elicitation('again')] }))
    const otherCall = other.call(runOf('http', { ask: [elicitation('theirs')] }))
    const [{ id }, theirs] = await Promise.all([call.question(), otherCall.question()])
    expect(await other.answer(id, accepted('forged'))).toBe(202)
    for (const strange of ['q-1', 1, '__proto__', 'constructor'])
      expect(await client.answer(strange, accepted('forged'))).toBe(202)
    await client.answer(id, accepted('true'))
    await client.answer(id, accepted('twice'))
    const again = await call.stream.next((message) => isQuestion(message) && message.id !== id)
    await client.answer(again.id, accepted('again'))
    expect(outcomeOf({ answer: await call.reply() }).answers).toEqual([accepted('true'), accepted('again')])
    await other.answer(theirs.id, accepted('theirs'))
    expect(outcomeOf({ answer: await otherCall.reply() }).answers).toEqual([accepted('theirs')])
  })

  it('that comes after the answer reaches nobody over HTTP, and its own client over a pipe', async () => {
    const client = await open()
    const stream = await client.listen()
    const over = await client.converse(runOf('http', { late: elicitation('late') }), () => accepted('?'))
    expect(over.questions).toEqual([])
    await client.converse(runOf('pipe', { late: elicitation('late') }), () => accepted('?'))
    const late = await stream.next(isQuestion)
    expect(late.params.message).toBe('late')
    await client.answer(late.id, accepted('after all'))
    await eventually(
      () => heardWith('pipe', '"late"'),
      (received) => received.some(({ result }) => result?.content?.name === 'after all'),
    )
    await stream.close()
  })

  it('reaches the right client even if a server asks outside the stream of its call, once the gateway knows that it does', async () => {
    const clients = await Promise.all(['a', 'b'].map(() => open({ elicitation: {} })))
    const ask = (gate: readonly Message[]) =>
      Promise.all(
        clients.map((client, index) => {
          const answerer = ({ params }: Message): Message => accepted(`${index} to ${params.message}`)
          return client.converse(runOf('strays', ...gate, { stray: elicitation(String(index)) }), answerer)
        }),
      )
    for (const seen of await ask([{ gate: 2 }])) {
      expect(seen.questions).toEqual([])
      expect(outcomeOf(seen).answers).toMatchObject([{ error: { code: -32601 } }])
    }
    const conversations = await ask([{ gate: 2 }])
    expect(conversations.map((seen) => outcomeOf(seen).answers)).toEqual([[accepted('0 to 0')], [accepted('1 to 1')]])
  })

  it('of a call that was given up does not reach the next caller of a shared pipe', async () => {
    const one = await open()
    const other = await open()
    const given = one.call(runOf('fresh', { gate: 2 }, { ask: [elicitation('of the one who left')] }))
    await eventually(
      () => bench.receivedBy('fresh'),
      (received) => received.some(({ message }) => message.method === 'tools/call'),
    )
    await given.cancel()
    expect((await given.reply()).error.data.code).toBe('CALL_CANCELLED')
    const next = await other.converse(runOf('fresh', { gate: 2 }, { ask: [elicitation('own')] }), () => accepted('?'))
    expect(next.questions).toEqual([])
  })

  it('reaches a window that sent initialize again, under new ids', async () => {
    const window = openWindow(bench.gateway)
    await window.initialize(ALL)
    const asked = window.next(isQuestion)
    const before = window.request('tools/call', runOf('http', { ask: [elicitation('before')] }))
    const { id } = await asked
    await window.initialize(ALL)
    expect(JSON.stringify((await before).result)).toContain('sent initialize again')
    window.answer(id, accepted('too late'))
    const seen = await new Window(window).converse(runOf('http', { ask: [elicitation('after')] }), () =>
      accepted('Ada'),
    )
    expect(outcomeOf(seen).answers).toEqual([accepted('Ada')])
    await window.leave()
  })
})
