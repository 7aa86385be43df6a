import { Cancellation, type JsonObject, type PolicyFields, SallyportError, type ToolEntry } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog } from '../catalog/catalog.test-kit.ts'
import { SessionLabels } from '../governance/governance.ts'
import type { Client, ClientCall, QuestionAnswer } from '../upstream/upstream.ts'
import { ANN, createCall, createTestPipeline, type TestPipelineOptions, toTestFrame } from './pipeline.test-kit.ts'

const NOT_NOW = { error: { code: -32600, message: 'The gateway does not allow sampling/createMessage here and now.' } }
const SAMPLING = { method: 'sampling/createMessage', params: { maxTokens: 1 } }

/** A client that always gives the same answer, and remembers the questions. */
function createClient(answer: QuestionAnswer = { result: { text: 'hi' } }) {
  const asked: JsonObject[] = []
  const client: Client = {
    era: 'legacy',
    capabilities: { sampling: {}, elicitation: {}, roots: {} },
    clientInfo: undefined,
    conversation: 'w1',
    logLevel: undefined,
    answersInCall: true,
    ask: async ({ method, params }) => {
      asked.push({ method, params })
      return answer
    },
    notify: () => {},
  }
  return { client, asked }
}

/** A server that asks once during its call, and the answers that it received. */
function createRuledPipeline(fields: PolicyFields, options: Partial<TestPipelineOptions> = {}) {
  const answers: unknown[] = []
  const entry: ToolEntry = { key: 'mcp__files__sampling/createMessage', line: 3, fields, lines: {} }
  const serve = async ({ ask }: ClientCall) => {
    answers.push(await ask?.({ ...SAMPLING, cancellation: new Cancellation() }))
    return toTestFrame({ jsonrpc: '2.0', id: 1, result: { content: [] } })
  }
  const made = createTestPipeline({
    catalogues: { files: createCatalog(['read']) },
    entries: [entry],
    serve,
    ...options,
  })
  const call = (client: Client, changes: Parameters<typeof createCall>[1] = {}) =>
    made.pipeline.run(createCall(made.catalog.snapshot.tool('files_read'), { client, ...changes }))
  return { ...made, answers, call }
}

describe('a question of a server', () => {
  it('is not sent to the client if a lockdown starts while it is being recorded', async () => {
    const { call, log, setMode, answers } = createRuledPipeline({})
    const append = log.append.bind(log)
    log.append = (event) => {
      append(event)
      if (log.types.at(-1) === 'CLIENT_ASKED') setMode('LOCKDOWN')
    }
    const { client, asked } = createClient()
    await call(client)
    expect([answers, asked]).toEqual([[NOT_NOW], []])
    expect(log.events.find(({ type }) => type === 'POLICY_DENIED')).toMatchObject({ error: 'MODE_FORBIDS' })
  })

  it(`is not sent to the client of a session that holds private data, nor is its answer sent back (${promise('GW-26')})`, async () => {
    const records = { load: async () => ({ datasets: [] }), raise: async () => {}, settle: async () => {} }
    const kept = { ...records, list: () => [], remember: () => {} }
    const labels = new SessionLabels({ records: kept, record: async () => {}, onWarning: () => {} })
    const { call, answers, log } = createRuledPipeline({}, { labels })
    const raise = async (): Promise<void> => {
      const datasets = [{ name: 'salaries', sensitivity: 'SECRET' as const }]
      await labels.raise(await labels.load(ANN), { datasets, reason: 'a test' })
    }
    const { client, asked } = createClient()
    await call({ ...client, ask: (question) => raise().then(() => client.ask(question)) })
    expect([answers, asked.length]).toEqual([[NOT_NOW], 1])
    await call(client)
    expect(asked).toHaveLength(1)
    expect(log.events.filter(({ type }) => type === 'POLICY_DENIED')).toMatchObject([
      { error: 'PRIVATE_SESSION', method: 'sampling/createMessage' },
      { error: 'PRIVATE_SESSION', method: 'tools/call' },
    ])
  })

  it('is not sent to the client if its rules start to require approval while it is being recorded', async () => {
    const entries: ToolEntry[] = []
    const { call, log, setMode, answers } = createRuledPipeline({}, { entries })
    const append = log.append.bind(log)
    log.append = (event) => {
      append(event)
      if (log.types.at(-1) !== 'CLIENT_ASKED') return
      const fields = { requiresApproval: true }
      entries.push({ key: 'mcp__files__sampling/createMessage', line: 3, fields, lines: {} })
      setMode('NORMAL')
    }
    const { client, asked } = createClient()
    await call(client)
    expect([answers, asked]).toEqual([[NOT_NOW], []])
  })

  it('is sent to the client even if other rules changed while it was being recorded', async () => {
    const { call, log, setMode, answers } = createRuledPipeline({ maxConcurrent: 1, rateLimitPerMinute: 1 })
    const append = log.append.bind(log)
    log.append = (event) => {
      append(event)
      if (log.types.at(-1) === 'CLIENT_ASKED') setMode('NORMAL')
    }
    await call(createClient().client)
    expect(answers).toEqual([{ result: { text: 'hi' } }])
  })

  it('between two rounds of a call is the last one if a lockdown starts before its answer', async () => {
    const inputRequests = { k: { method: 'elicitation/create', params: { message: 'Sure?' } } }
    const result = { resultType: 'input_required', inputRequests, requestState: 's' }
    const serve = async () => toTestFrame({ jsonrpc: '2.0', id: 1, result })
    const { call, log, setMode, requests } = createRuledPipeline({}, { serve, era: 'modern' })
    const { client } = createClient()
    const answer = await call({
      ...client,
      capabilities: { elicitation: {} },
      ask: async () => {
        setMode('LOCKDOWN')
        return { result: { action: 'accept' } }
      },
    })
    expect(answer).toMatchObject({ kind: 'failure', error: { code: 'MODE_FORBIDS' } })
    expect(requests).toHaveLength(1)
    expect(log.types.at(-1)).toBe('POLICY_DENIED')
  })

  it('is allowed if its rules are not enforced', async () => {
    const { call, answers } = createRuledPipeline({ forbiddenInModes: ['NORMAL'], enforce: false })
    await call(createClient().client)
    expect(answers).toEqual([{ result: { text: 'hi' } }])
  })

  it('waits for a person, and is sent to the client after approval', async () => {
    const { call, approvals, answers } = createRuledPipeline({ requiresApproval: true })
    approvals.onChange(({ kind, approval: { id, tool } }) => {
      expect(tool).toBe('mcp__files__sampling/createMessage')
      if (kind === 'requested') void approvals.answer(id, { answer: 'once', by: 'olga', via: 'api' })
    })
    await call(createClient().client)
    expect(answers).toEqual([{ result: { text: 'hi' } }])
  })

  it('is never sent if its call is cancelled before anybody approves it', async () => {
    const { call, approvals, answers } = createRuledPipeline(
      { requiresApproval: true },
      {
        serve: async ({ ask }) => {
          const cancellation = new Cancellation()
          approvals.onChange(({ kind }) => kind === 'requested' && cancellation.cancel('the call is over'))
          answers.push(await ask?.({ ...SAMPLING, cancellation }))
          return toTestFrame({ jsonrpc: '2.0', id: 1, result: { content: [] } })
        },
      },
    )
    const { client, asked } = createClient()
    await call(client)
    expect([answers, asked]).toEqual([[NOT_NOW], []])
  })

  it('is not sent to the client if it cannot be recorded', async () => {
    const { call, log, answers } = createRuledPipeline({})
    const append = log.append.bind(log)
    log.append = (event) => {
      if (log.events.length > 0) throw new SallyportError('AUDIT_UNAVAILABLE', 'The disk is full.')
      append(event)
    }
    const { client, asked } = createClient()
    await call(client)
    expect([answers, asked]).toEqual([[NOT_NOW], []])
  })
})

describe('an answer in which a server asks questions', () => {
  const asking =
    (inputRequests: JsonObject, more: JsonObject = {}) =>
    async () =>
      toTestFrame({ jsonrpc: '2.0', id: 1, result: { resultType: 'input_required', inputRequests, ...more } })
  const modern = (): Client => ({ ...createClient().client, era: 'modern', answersInCall: false })

  it.each<[string, JsonObject]>([
    ['a method that no client has', { a: { method: 'tools/call', params: {} } }],
    ['a malformed request', { a: 7 }],
    [
      'too many things',
      Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`q${at}`, { method: 'roots/list' }])),
    ],
  ])('that asks for %s does not reach a modern client', async (_, inputRequests) => {
    const { call } = createRuledPipeline({}, { serve: asking(inputRequests) })
    expect(await call(modern())).toMatchObject({ kind: 'failure', error: { code: 'UPSTREAM_PROTOCOL' } })
  })

  it('is refused completely if one question is not allowed', async () => {
    const inputRequests = { a: { method: 'roots/list' }, b: SAMPLING }
    const { call, log } = createRuledPipeline({ hidden: true }, { serve: asking(inputRequests) })
    expect(await call(modern())).toMatchObject({ kind: 'failure', error: { code: 'CALL_DENIED' } })
    expect(log.types).toEqual(['TOOL_CALL_STARTED', 'CLIENT_ASKED', 'POLICY_DENIED', 'TOOL_CALL_FAILED'])
  })

  it('does not reach the client if a lockdown starts before all questions were checked', async () => {
    const inputRequests = { a: { method: 'roots/list' }, b: SAMPLING }
    const { call, log, setMode } = createRuledPipeline({}, { serve: asking(inputRequests) })
    const append = log.append.bind(log)
    log.append = (event) => {
      append(event)
      if (log.types.filter((type) => type === 'CLIENT_ASKED').length === 2) setMode('LOCKDOWN')
    }
    expect(await call(modern())).toMatchObject({ kind: 'failure', error: { code: 'MODE_FORBIDS' } })
  })

  it('is also checked if a task waits for the answers', async () => {
    const serve = asking({ b: SAMPLING }, { resultType: 'complete', status: 'input_required' })
    const { call } = createRuledPipeline({ hidden: true }, { serve })
    const answer = await call(modern(), { method: 'tasks/get', params: { taskId: 't' } })
    expect(answer).toMatchObject({ kind: 'failure', error: { code: 'CALL_DENIED' } })
  })
})
