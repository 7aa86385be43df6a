import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ALL,
  type AskedClient,
  type Conversation,
  HttpSession,
  ModernHttp,
  ModernWindow,
  Window,
} from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { openWindow, type StdioClient } from '../harness/stdio-client.ts'
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

const SERVERS = ['oldstdio', 'oldhttp', 'newstdio', 'newhttp'] as const
const URIS: Readonly<Record<string, string>> = {
  oldstdio: 'run://legacy',
  oldhttp: 'run://legacy-http',
  newstdio: 'run://modern',
  newhttp: 'run://modern-http',
}
const CLIENTS = ['legacy HTTP', 'legacy stdio', 'modern HTTP', 'modern stdio'] as const

const ASKED: readonly (readonly [Message, Message])[] = [
  [elicitation('who are you?'), { action: 'accept', content: { name: 'Ada' } }],
  [sampling('say it'), { role: 'assistant', model: 'm', content: { type: 'text', text: 'said' } }],
  [ROOTS, { roots: [{ uri: 'file:///work', name: 'work' }] }],
]

describe(`${promise('GW-16')} ${promise('GW-17')} what a server asks of its client`, () => {
  let bench: AskingBench
  let window: StdioClient
  const clients = new Map<string, AskedClient>()

  beforeAll(async () => {
    bench = await openAskingBench({
      oldstdio: {},
      oldhttp: { http: true },
      newstdio: { switches: ['--era', 'modern'] },
      newhttp: { http: true, switches: ['--era', 'modern'] },
    })
    window = openWindow(bench.gateway)
    await window.initialize(ALL)
    clients.set('legacy HTTP', await HttpSession.open(bench.gateway.mcp))
    clients.set('legacy stdio', new Window(window))
    clients.set('modern HTTP', new ModernHttp(bench.gateway.mcp))
    clients.set('modern stdio', new ModernWindow(window))
  })

  afterAll(async () => {
    await window.leave()
    await bench.close()
  })

  const converse = (client: string, params: Message, answer: (question: Message) => Message, method?: string) =>
    (clients.get(client) as AskedClient).converse(params, answer, method)

  const cases = CLIENTS.flatMap((client) => SERVERS.map((server) => [client, server] as const))

  it.each(cases)(
    'reaches a %s client of %s, and the answers reach the server, one after the other',
    async (client, server) => {
      const steps = ASKED.map(([question]) => ({ ask: [question] }))
      let next = 0
      const seen = await converse(client, runOf(server, ...steps), () => ({ result: ASKED[next++]?.[1] }))
      expect(seen.questions).toMatchObject(ASKED.map(([question]) => question))
      expect(outcomeOf(seen).answers).toEqual(ASKED.map(([, result]) => ({ result })))
    },
  )

  it.each(cases)('reaches a %s client of %s when it is asked at once', async (client, server) => {
    const asked = ['a', 'b', 'c'].map(elicitation)
    const answer = ({ params }: Message): Message => accepted(`to ${params.message}`)
    const seen = await converse(client, runOf(server, { ask: asked }), answer)
    expect(seen.questions.map(({ params }) => params.message).sort()).toEqual(['a', 'b', 'c'])
    const names = outcomeOf(seen).answers.map(({ result }: Message) => result.content.name)
    expect(names).toEqual(['to a', 'to b', 'to c'])
  })

  it.each(cases)('may be a page to open: a %s client of %s', async (client, server) => {
    const page = {
      method: 'elicitation/create',
      params: { mode: 'url', message: 'sign', url: 'https://example.org/s' },
    }
    const named = { ...page, params: { ...page.params, elicitationId: 'e-1' } }
    const asked = server.startsWith('old') ? named : page
    const seen = await converse(client, runOf(server, { ask: [asked] }), () => ({ result: { action: 'accept' } }))
    expect(seen.questions).toMatchObject([page])
    // The name of a page is the legacy era's: it is there for legacy clients alone.
    const name = seen.questions[0]?.params.elicitationId
    if (client.startsWith('legacy')) expect(name).toEqual(server.startsWith('old') ? 'e-1' : expect.any(String))
    else expect(name).toBeUndefined()
    expect(outcomeOf(seen).answers).toEqual([{ result: { action: 'accept' } }])
  })

  it.each(cases)('may be declined or cancelled: a %s client of %s', async (client, server) => {
    for (const action of ['decline', 'cancel']) {
      const seen = await converse(client, runOf(server, { ask: [elicitation('?')] }), () => ({ result: { action } }))
      expect(outcomeOf(seen).answers).toEqual([{ result: { action } }])
    }
  })

  it.each(cases)('comes from prompts and resources too: a %s client of %s', async (client, server) => {
    const prompt = { name: `${server}_run`, arguments: { steps: JSON.stringify([{ ask: [ROOTS] }]) } }
    const roots = await converse(client, prompt, () => ({ result: { roots: [] } }), 'prompts/get')
    expect(outcomeOf(roots).answers).toEqual([{ result: { roots: [] } }])
    const uri = URIS[server]
    const read = await converse(client, { uri }, () => accepted('Ada'), 'resources/read')
    expect(outcomeOf(read).answers).toEqual([accepted('Ada')])
  })

  it.each(CLIENTS.slice(0, 2))(
    'may be refused by a %s client, and a legacy server gets that error unchanged',
    async (client) => {
      const error = { code: -1, message: 'the user said no', data: { why: 'busy' } }
      for (const server of ['oldstdio', 'oldhttp']) {
        const seen = await converse(client, runOf(server, { ask: [sampling('x')] }), () => ({ error }))
        expect(outcomeOf(seen).answers).toEqual([{ error }])
      }
      for (const server of ['newstdio', 'newhttp']) {
        const seen: Conversation = await converse(client, runOf(server, { ask: [sampling('x')] }), () => ({ error }))
        expect(seen.answer.result).toMatchObject({
          isError: true,
          _meta: { 'sallyport/error': { code: 'CLIENT_REFUSED' } },
        })
      }
    },
  )

  it('is in the log with its call, and without its text', async () => {
    const secret = 'the-word-of-a-question'
    const seen = await converse('legacy HTTP', runOf('oldhttp', { ask: [elicitation(secret)] }), () => accepted(secret))
    expect(outcomeOf(seen).answers).toEqual([accepted(secret)])
    const records = bench.gateway.records()
    const { call_id } = records.findLast(({ type }) => type === 'CLIENT_ASKED') ?? {}
    const [asked, answered, ended] = records.filter((record) => record.call_id === call_id).slice(-3)
    expect(asked).toMatchObject({ type: 'CLIENT_ASKED', method: 'elicitation/create', server: 'oldhttp' })
    expect(answered).toMatchObject({ type: 'CLIENT_ANSWERED', method: 'elicitation/create', success: true })
    expect(ended).toMatchObject({ type: 'TOOL_CALL_COMPLETED', call_id: asked?.call_id })
    expect(answered?.call_id).toBe(asked?.call_id)
    // The call's own record keeps what the caller gave it, which here is what the server is to ask.
    expect(JSON.stringify([asked, answered, ended])).not.toContain(secret)
  })
})
