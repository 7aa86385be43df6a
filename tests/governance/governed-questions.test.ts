import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALL, type AskedClient, HttpSession, ModernHttp, Window } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { eventually } from '../harness/processes.ts'
import { openWindow, type StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import { elicitation, ROOTS, runOf, sampling } from '../questions/asking-bench.ts'
import { fixture, type GovernedBench, openGoverned } from './governed-bench.ts'

const SERVERS = { old: fixture('asking-server.mjs'), new: fixture('asking-server.mjs', '--era', 'modern') }
/** The tool itself is left alone in all modes but a lockdown: what it asks is what the tests are about. */
const RUN = { requires_approval: false, permission: ['READ'], allowed_in_modes: ['NORMAL', 'ALERT', 'DEGRADED'] }
const RUNS = { mcp__old__run: RUN, mcp__new__run: RUN }
const QUESTIONS = { sampling: sampling('say it'), elicitation: elicitation('who are you?'), roots: ROOTS }
const ANSWERS: Readonly<Record<string, Message>> = {
  'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 'said' } },
  'elicitation/create': { action: 'accept', content: { name: 'Ada' } },
  'roots/list': { roots: [{ uri: 'file:///work' }] },
}
const WAYS = ['legacy', 'modern'].flatMap((era) => ['old', 'new'].map((server) => [era, server] as const))

type Kind = keyof typeof QUESTIONS

const bothOf = (method: string, fields: object): object => ({
  [`mcp__old__${method}`]: fields,
  [`mcp__new__${method}`]: fields,
})

const answer = ({ method }: Message): Message => ({ result: ANSWERS[method] })

/** What the client was asked, and what became of the call. */
interface AskResult {
  readonly asked: readonly string[]
  readonly outcome: string
}

describe(`${promise('GW-26')} a question of a server`, () => {
  let bench: GovernedBench
  const clients = new Map<string, AskedClient>()

  beforeAll(async () => {
    bench = await openGoverned({ servers: SERVERS, tools: RUNS })
    clients.set('legacy', await HttpSession.open(bench.gateway.mcp))
    clients.set('modern', new ModernHttp(bench.gateway.mcp))
  })

  afterAll(() => bench.close())

  async function ask(era: string, server: string, question: Message, answerer = answer): Promise<AskResult> {
    const client = clients.get(era) as AskedClient
    const { questions, answer: reply } = await client.converse(runOf(server, { ask: [question] }), answerer)
    return { asked: questions.map(({ method }) => method), outcome: textIn(reply) }
  }

  const textIn = ({ result, error }: Message): string => result?.content?.[0]?.text ?? JSON.stringify(error)

  async function isAsked(era: string, server: string, kind: Kind): Promise<boolean> {
    const { asked, outcome } = await ask(era, server, QUESTIONS[kind])
    expect(outcome).toMatch(asked.length === 1 ? /"answers":\[\{"result"/ : /not allow|MODE_FORBIDS|CALL_DENIED/)
    return asked.length === 1
  }

  const allAsked = async (era: string, server: string): Promise<readonly boolean[]> => [
    await isAsked(era, server, 'sampling'),
    await isAsked(era, server, 'elicitation'),
    await isAsked(era, server, 'roots'),
  ]

  it.each(WAYS)('reaches a %s client of an %s server if nothing forbids it', async (era, server) => {
    expect(await allAsked(era, server)).toEqual([true, true, true])
    expect(bench.last('CLIENT_ASKED')).toMatchObject({ tool_name: `mcp__${server}__run`, method: 'roots/list' })
  })

  it.each(WAYS)('does not reach a %s client of an %s server if an entry forbids it', async (era, server) => {
    await bench.writeTools({ ...RUNS, ...bothOf('sampling/createMessage', { hidden: true }) })
    expect(await allAsked(era, server)).toEqual([false, true, true])
    const denied = bench.last('POLICY_DENIED')
    expect(denied).toMatchObject({
      tool_name: `mcp__${server}__sampling/createMessage`,
      method: 'sampling/createMessage',
      error: 'CALL_DENIED',
      decided_by: { step: 'select' },
    })
    const calls = bench.gateway.records().filter(({ type }) => type === 'TOOL_CALL_STARTED')
    expect(calls.map(({ call_id }) => call_id)).not.toContain(denied?.call_id)
    expect(calls.map(({ trace_id }) => trace_id)).toContain(denied?.trace_id)
  })

  it('is limited like calls', async () => {
    await bench.writeTools({ ...RUNS, ...bothOf('elicitation/create', { rate_limit_per_minute: 2 }) })
    const outcomes = []
    for (const era of ['legacy', 'modern', 'legacy'])
      outcomes.push(await isAsked(era, 'old', 'elicitation').catch(() => 'limited'))
    expect(outcomes).toEqual([true, true, false])
    expect(bench.last('POLICY_DENIED')).toMatchObject({ error: 'RATE_LIMITED', decided_by: { step: 'limits' } })
  })

  it('may need approval, and its arguments may be restricted', async () => {
    await bench.writeTools({
      ...RUNS,
      ...bothOf('elicitation/create', { requires_approval: true }),
      ...bothOf('sampling/createMessage', { arguments: { maxTokens: { max: 5 } } }),
    })
    expect(await allAsked('legacy', 'old')).toEqual([false, false, true])
    expect(bench.last('APPROVAL_REQUESTED')).toMatchObject({ tool_name: 'mcp__old__elicitation/create' })
    const codes = bench.gateway
      .records()
      .filter(({ type }) => type === 'POLICY_DENIED')
      .slice(-2)
    expect(codes.map(({ error }) => error)).toEqual(['ARGUMENTS_FORBIDDEN', 'APPROVAL_EXPIRED'])
  })

  it('does not reveal to the server why it is refused', async () => {
    await bench.writeTools({ ...RUNS, ...bothOf('sampling/createMessage', { hidden: true }) })
    const { outcome } = await ask('legacy', 'old', QUESTIONS.sampling)
    expect(JSON.parse(outcome).answers).toEqual([
      { error: { code: -32600, message: 'The gateway does not allow sampling/createMessage here and now.' } },
    ])
  })

  it.each(WAYS)('carries no key of a %s client to an %s server, nor the other way', async (era, server) => {
    await bench.writeTools(RUNS)
    const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
    const given = await ask(era, server, QUESTIONS.elicitation, () => ({
      result: { action: 'accept', content: { name: key } },
    }))
    expect(given.outcome).toMatch(/not allow|SECRET_REFUSED/)
    expect(bench.last('POLICY_DENIED')).toMatchObject({ error: 'SECRET_REFUSED' })
    // The server is told with the call what to ask.
    const telling = { ...RUN, secrets: 'allow' }
    await bench.writeTools({ mcp__old__run: telling, mcp__new__run: telling })
    const shown: Message[] = []
    await ask(era, server, sampling(`use ${key}`), (question) => {
      shown.push(question)
      return answer(question)
    })
    expect(shown).toHaveLength(1)
    expect(JSON.stringify([shown, bench.gateway.records()])).not.toContain(key)
  })

  it.each(WAYS)('follows the mode: a %s client of an %s server', async (era, server) => {
    await bench.writeTools(RUNS)
    await bench.setMode('ALERT')
    expect(await allAsked(era, server)).toEqual([false, true, true])
    await bench.setMode('LOCKDOWN')
    await bench.setMode('RECOVERY')
    expect(await allAsked(era, server)).toEqual([false, false, true])
    await bench.setMode('NORMAL')
    expect(await isAsked(era, server, 'sampling')).toBe(true)
  })
})

describe(`${promise('GW-26')} a question of a server outside of calls`, () => {
  let bench: GovernedBench
  let window: StdioClient

  beforeAll(async () => {
    const servers = { other: fixture('asking-server.mjs'), ...SERVERS }
    bench = await openGoverned({ servers, tools: { ...RUNS, mcp__other__run: RUN } })
    window = openWindow(bench.gateway)
    await window.initialize(ALL)
    // Whoever has been asked once has a connection of its own, over which anything may come at any time.
    for (const server of ['other', 'old'])
      await new Window(window).converse(runOf(server, { ask: [elicitation('first')] }), answer)
  })

  afterAll(async () => {
    await window.leave()
    await bench.close()
  })

  it('is checked and recorded under its own id', async () => {
    const asked = window.next(({ id, method }) => id !== undefined && method !== undefined)
    await window.request('tools/call', runOf('old', { late: elicitation('afterwards') }))
    const { id, params } = await asked
    expect(params.message).toBe('afterwards')
    window.answer(id, answer({ method: 'elicitation/create' }))
    const own = await eventually(
      () => bench.gateway.records().filter(({ tool_name }) => tool_name === 'mcp__old__elicitation/create'),
      (records) => records.length === 2,
    )
    expect(own).toMatchObject([{ type: 'CLIENT_ASKED' }, { type: 'CLIENT_ANSWERED', success: true }])
    expect(own[0]?.call_id).toBe(own[1]?.call_id)
    const started = bench.gateway.records().filter(({ type }) => type === 'TOOL_CALL_STARTED')
    expect(started.map(({ call_id }) => call_id)).not.toContain(own[0]?.call_id)
  })

  it('is not sent to the client if that is forbidden', async () => {
    await bench.writeTools({ ...RUNS, 'mcp__old__elicitation/create': { forbidden_in_modes: ['NORMAL'] } })
    const before = window.received.length
    await window.request('tools/call', runOf('old', { late: elicitation('never') }))
    const denied = await eventually(
      () => bench.last('POLICY_DENIED'),
      (record) => record !== undefined,
    )
    expect(denied).toMatchObject({ tool_name: 'mcp__old__elicitation/create', error: 'MODE_FORBIDS' })
    expect(window.received.slice(before).filter(({ method }) => method === 'elicitation/create')).toEqual([])
  })
})
