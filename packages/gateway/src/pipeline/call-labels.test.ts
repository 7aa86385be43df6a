import type { JsonObject, PolicyFields, Sensitivity } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog } from '../catalog/catalog.test-kit.ts'
import { SessionLabels } from '../governance/governance.ts'
import type { LabelRecords, StoredLabel } from '../store/store.ts'
import type { Client, ServerCatalog } from '../upstream/upstream.ts'
import { ANN, createCall, createTestPipeline, type TestPipelineOptions, toTestFrame } from './pipeline.test-kit.ts'

const SERVERS = { hr: createCatalog(['salaries', 'count']), web: createCatalog(['post']) }

/** A store in memory that can fail like a full disk, and that remembers what was stored when. */
class MemoryLabels implements LabelRecords {
  readonly stored = new Map<string, StoredLabel['datasets'][number][]>()
  failure: Error | undefined
  storing: () => Promise<void> = () => Promise.resolve()

  async load({ user, session }: { user: string; session: string }): Promise<StoredLabel> {
    return { datasets: this.stored.get(`${user} ${session}`) ?? [] }
  }

  async raise(
    { user, session }: { user: string; session: string },
    dataset: StoredLabel['datasets'][number],
  ): Promise<void> {
    await this.storing()
    if (this.failure) throw this.failure
    const key = `${user} ${session}`
    this.stored.set(key, [...(this.stored.get(key) ?? []), dataset])
  }

  async settle(): Promise<void> {
    if (this.failure) throw this.failure
  }

  list = () => []
  remember = () => undefined
}

const changed = (catalog: ServerCatalog): ServerCatalog => ({
  ...catalog,
  tools: catalog.tools.map((tool) => ({ ...tool, description: 'Another one' })),
})

const entry = (key: string, fields: PolicyFields) => ({ key, line: 1, fields, lines: {} })
const CONNECTS = entry('web/post', { permission: ['CONNECT'], requiresApproval: false })
const sensitive = (sensitivity: Sensitivity) =>
  entry('hr/salaries', { permission: ['READ'], sensitivity, requiresApproval: false })

function open(options: Partial<TestPipelineOptions> = {}, records = new MemoryLabels()) {
  const events: string[] = []
  const labels = new SessionLabels({
    records,
    record: async (event) => void events.push(event.type),
    onWarning: () => undefined,
  })
  const entries = [CONNECTS, sensitive('CONFIDENTIAL')]
  const made = createTestPipeline({ catalogues: SERVERS, entries, labels, ...options })
  const run = (tool: string, changes: Parameters<typeof createCall>[1] = {}) =>
    made.pipeline.run(createCall(made.catalog.snapshot.tool(tool), changes))
  const codeOf = async (tool: string, changes: Parameters<typeof createCall>[1] = {}): Promise<string> => {
    const answer = await run(tool, changes)
    return answer.kind === 'failure' ? answer.error.code : 'sent'
  }
  return { ...made, run, codeOf, labels, records, events }
}

describe(`a session that has read private data (${promise('SEN-1')}, ${promise('SEN-5')})`, () => {
  it('cannot call tools that reach out, and every other session can', async () => {
    const { codeOf, requests, records } = open()
    expect(await codeOf('web_post')).toBe('sent')
    expect(await codeOf('hr_salaries')).toBe('sent')
    expect(await codeOf('web_post')).toBe('PRIVATE_SESSION')
    expect(await codeOf('hr_salaries')).toBe('sent')
    expect(await codeOf('web_post', { principal: { ...ANN, session: 's2' } })).toBe('sent')
    expect(await codeOf('web_post', { principal: { ...ANN, user: 'bob' } })).toBe('sent')
    expect(requests.map(({ name }) => name)).toEqual(['post', 'salaries', 'salaries', 'post', 'post'])
    expect(records.stored).toEqual(new Map([['ann s1', [{ name: 'hr/salaries', sensitivity: 'CONFIDENTIAL' }]]]))
  })

  it('keeps its label under another token, agent or profile, and after a restart', async () => {
    const { codeOf, records } = open()
    await codeOf('hr_salaries')
    for (const change of [{ token: 't2' }, { agent: 'codex' }, { profile: 'reviewer' }])
      expect(await codeOf('web_post', { principal: { ...ANN, ...change } })).toBe('PRIVATE_SESSION')
    expect(await open({}, records).codeOf('web_post')).toBe('PRIVATE_SESSION')
  })

  it.each<[Sensitivity, string]>([
    ['INTERNAL', 'sent'],
    ['SECRET', 'PRIVATE_SESSION'],
  ])('is private from CONFIDENTIAL on: %s', async (sensitivity, outcome) => {
    const { codeOf } = open({ entries: [CONNECTS, sensitive(sensitivity)] })
    await codeOf('hr_salaries')
    expect(await codeOf('web_post')).toBe(outcome)
  })

  it('is private from the level in labels.private_from on', async () => {
    const labelSettings = { privateFrom: 'INTERNAL' } as const
    const { codeOf } = open({ entries: [CONNECTS, sensitive('INTERNAL')], labelSettings })
    await codeOf('hr_salaries')
    expect(await codeOf('web_post')).toBe('PRIVATE_SESSION')
  })

  it('is labelled by the entry of a server, for all that it offers', async () => {
    const { codeOf } = open({ entries: [CONNECTS], serverSensitivity: { sensitivity: 'SECRET' } })
    expect(await codeOf('hr_count')).toBe('sent')
    expect(await codeOf('web_post')).toBe('PRIVATE_SESSION')
  })

  it('is labelled by a path only if an argument has such a path', async () => {
    const fields: PolicyFields = { permission: ['READ'], sensitivePaths: ['/srv/hr/**'], requiresApproval: false }
    const read = (path: string) => ({ params: { name: 'salaries', arguments: { path } } as JsonObject })
    const { codeOf } = open({ entries: [CONNECTS, entry('hr/salaries', fields)] })
    expect(await codeOf('hr_salaries', read('/srv/public/a.txt'))).toBe('sent')
    expect(await codeOf('web_post')).toBe('sent')
    expect(await codeOf('hr_salaries', read('/srv/public/../hr/a.txt'))).toBe('sent')
    expect(await codeOf('web_post')).toBe('PRIVATE_SESSION')
  })

  it('may call a sensitive tool that itself reaches out, once', async () => {
    const both = entry('web/post', { permission: ['CONNECT'], sensitivity: 'SECRET', requiresApproval: false })
    const { codeOf } = open({ entries: [both] })
    expect(await codeOf('web_post')).toBe('sent')
    expect(await codeOf('web_post')).toBe('PRIVATE_SESSION')
  })

  it('does not send its first sensitive call before the label is on disk, and not at all if that fails', async () => {
    const { codeOf, requests, records } = open()
    const order: string[] = []
    records.storing = async () => void order.push(`stored after ${requests.length} requests`)
    expect(await codeOf('hr_salaries')).toBe('sent')
    expect(order).toEqual(['stored after 0 requests'])

    const failing = open()
    failing.records.failure = new Error('ENOSPC')
    expect(await failing.codeOf('hr_salaries')).toBe('STATE_UNUSABLE')
    expect(failing.requests).toEqual([])
    expect(await failing.codeOf('web_post')).toBe('PRIVATE_SESSION')
    failing.records.failure = undefined
    expect(await failing.codeOf('hr_salaries')).toBe('sent')
  })
})

describe(`what a server says about private data (${promise('SEN-2')})`, () => {
  const claiming = (claim: unknown, isTrusted = true) =>
    open({
      entries: [CONNECTS, entry('hr/salaries', { permission: ['READ'], requiresApproval: false })],
      isTrusted,
      serve: async () => toTestFrame({ jsonrpc: '2.0', id: 1, result: { content: [] } }),
      claims: { 'sallyport/private_data': claim } as JsonObject,
    })

  it.each<[string, unknown]>([
    ['a level', { sensitivity: 'CONFIDENTIAL', datasets: [{ name: 'salaries', sensitivity: 'CONFIDENTIAL' }] }],
    ['no level', {}],
    ['an unknown level', { sensitivity: 'secret' }],
    ['a list', []],
    ['null, as for a claim that was made twice', null],
    ['datasets that are no list', { sensitivity: 'PUBLIC', datasets: { name: 'salaries' } }],
    ['a dataset above its level', { sensitivity: 'PUBLIC', datasets: [{ name: 'pay', sensitivity: 'SECRET' }] }],
    [
      'one of many datasets above its level',
      {
        sensitivity: 'PUBLIC',
        datasets: [
          ...Array.from({ length: 50 }, (_, at) => ({ name: `menu ${at}`, sensitivity: 'PUBLIC' })),
          { name: 'pay', sensitivity: 'SECRET' },
        ],
      },
    ],
  ])('raises the label before the result is released: %s', async (_, claim) => {
    const { codeOf, records } = claiming(claim)
    expect(await codeOf('hr_salaries')).toBe('sent')
    expect(records.stored.size).toBe(1)
    expect(await codeOf('web_post')).toBe('PRIVATE_SESSION')
  })

  it('does not raise it if nothing of it is private', async () => {
    const { codeOf } = claiming({ sensitivity: 'PUBLIC', datasets: [{ name: 'menu', sensitivity: 'PUBLIC' }] })
    await codeOf('hr_salaries')
    expect(await codeOf('web_post')).toBe('sent')
  })

  it('withholds the result if the label cannot be stored', async () => {
    const { codeOf, records } = claiming({ sensitivity: 'SECRET' })
    records.failure = new Error('ENOSPC')
    expect(await codeOf('hr_salaries')).toBe('RESULT_WITHHELD')
  })

  const nesting = (result: string, isTrusted = true) =>
    open({
      entries: [CONNECTS, entry('hr/salaries', { permission: ['READ'], requiresApproval: false })],
      isTrusted,
      serve: async () => toTestFrame(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":${result}}}`),
    })

  it.each([
    ['the result of another server', '{"content":[],"_meta":{"sallyport/private_data":{"sensitivity":"SECRET"}}}'],
    ['one of several', '{"all":[{"a":1},{"_meta":{"sallyport/private_data":{"sensitivity":"CONFIDENTIAL"}}}]}'],
    ['a key with escapes', '{"_meta":{"\\u0073allyport\\/private\\u005fdata":{"sensitivity":"SECRET"}}}'],
    ['an escaped slash only', '{"_meta":{"sallyport\\/private_data":{"sensitivity":"SECRET"}}}'],
    ['an escaped name of _meta', '{"\\u005fmeta":{"sallyport/private_data":{"sensitivity":"SECRET"}}}'],
    ['one that cannot be read', '{"_meta":{"sallyport/private_data":null}}'],
    [
      'one that is made twice',
      '{"_meta":{"sallyport/private_data":{"sensitivity":"SECRET"},"sallyport/private_data":{"sensitivity":"PUBLIC"}}}',
    ],
  ])('counts in structured content, too: %s', async (_, content) => {
    const { codeOf } = nesting(content)
    expect(await codeOf('hr_salaries')).toBe('sent')
    expect(await codeOf('web_post')).toBe('PRIVATE_SESSION')
  })

  it.each([
    ['of a server that is not trusted', '{"_meta":{"sallyport/private_data":{"sensitivity":"SECRET"}}}', false],
    ['that is a text', '{"text":"_meta sallyport/private_data SECRET"}', true],
    ['beside `_meta`', '{"sallyport/private_data":{"sensitivity":"SECRET"}}', true],
    ['of public data', '{"_meta":{"sallyport/private_data":{"sensitivity":"PUBLIC"}}}', true],
  ])('changes nothing in structured content %s', async (_, content, isTrusted) => {
    const { codeOf } = nesting(content, isTrusted)
    expect(await codeOf('hr_salaries')).toBe('sent')
    expect(await codeOf('web_post')).toBe('sent')
  })

  it('of a server that is not trusted changes nothing', async () => {
    const { codeOf, records } = claiming({ sensitivity: 'SECRET' }, false)
    expect(await codeOf('hr_salaries')).toBe('sent')
    expect(await codeOf('web_post')).toBe('sent')
    expect(records.stored.size).toBe(0)
  })
})

describe('what is found in a result', () => {
  const returning = (text: string, detect: readonly ('secrets' | 'pii')[]) =>
    open({
      entries: [CONNECTS, entry('hr/salaries', { permission: ['READ'], requiresApproval: false })],
      labelSettings: { detect },
      serve: async () => toTestFrame({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }] } }),
    })
  const KEY = `AKIA${'IOSFODNN7EXAMPLF'}`

  it.each([
    ['ada@example.org', ['pii'], 'CONFIDENTIAL'],
    [KEY, ['secrets'], 'SECRET'],
    [KEY, ['pii'], undefined],
    ['ada@example.org', [], undefined],
    ['soup', ['secrets', 'pii'], undefined],
  ] as const)('raises the label only if that detector is on: %s %j', async (text, detect, level) => {
    const { codeOf, records } = returning(text, detect)
    await codeOf('hr_salaries')
    expect(records.stored.get('ann s1')?.[0]?.sensitivity).toBe(level)
    expect(await codeOf('web_post')).toBe(level === undefined ? 'sent' : 'PRIVATE_SESSION')
  })
})

describe(`the ways out of a refusal (${promise('SEN-6')})`, () => {
  it('are named in the error', async () => {
    const { run } = open()
    await run('hr_salaries')
    const answer = await run('web_post')
    expect(answer).toMatchObject({ kind: 'failure', error: { code: 'PRIVATE_SESSION' } })
    if (answer.kind !== 'failure') return
    expect(answer.error.message).toContain('holds private data (CONFIDENTIAL: "hr/salaries")')
    for (const remedy of ['sallyport approvals approve a1', 'sandbox.proxied.allow', 'url_isolated', 'new session'])
      expect(answer.error.hint).toContain(remedy)
  })

  it('are those that the server can have', async () => {
    const hintOf = async (options: Partial<TestPipelineOptions>): Promise<string> => {
      const { run } = open(options)
      await run('hr_salaries')
      const answer = await run('web_post')
      return answer.kind === 'failure' ? (answer.error.hint ?? '') : 'sent'
    }
    const program = await hintOf({ possibleRoutesOf: () => ['sandbox'] })
    expect(program).toContain('run web in a sandbox')
    expect(program).not.toMatch(/url_isolated|sandbox\.proxied\.allow/)
    const secret = await hintOf({ entries: [CONNECTS, sensitive('SECRET')] })
    expect(secret).toContain('url_isolated')
    expect(secret).not.toContain('sandbox.proxied.allow')
    // The session has read text of servers that are not trusted: a route alone lets nothing pass.
    const strict = await hintOf({ labelSettings: { untrusted: true } })
    expect(strict).toContain('neither write nor reach out')
    expect(strict).not.toMatch(/url_isolated|sandbox\.proxied\.allow/)
  })

  it('let exactly one call pass that a person has approved', async () => {
    const { codeOf, approvals } = open()
    const post = (text: string) => ({ params: { name: 'post', arguments: { text } } as JsonObject })
    await codeOf('hr_salaries')
    expect(await codeOf('web_post', post('a'))).toBe('PRIVATE_SESSION')
    expect(approvals.pending).toMatchObject([{ arguments: { text: 'a' }, isForPrivateData: true }])
    const answer = { by: 'ann', via: 'cli' } as const
    await expect(approvals.answer('a1', { ...answer, answer: 'session' })).rejects.toMatchObject({
      code: 'ALWAYS_REFUSED',
    })
    await approvals.answer('a1', { ...answer, answer: 'once' })
    expect(await codeOf('web_post', post('b'))).toBe('PRIVATE_SESSION')
    expect(await codeOf('web_post', post('a'))).toBe('sent')
    expect(await codeOf('web_post', post('a'))).toBe('PRIVATE_SESSION')
  })

  it('let nothing pass with an approved call but what the person has read', async () => {
    const text = 'Ada earns 5200'
    const { codeOf, approvals, requests } = open()
    const params = { name: 'post', arguments: { text: 'shown' } }
    const client: Client = {
      era: 'modern',
      ...{ capabilities: { experimental: { text } }, clientInfo: { name: text }, conversation: text },
      ...{ introduction: `"x":"${text}"`, logLevel: undefined, answersInCall: true },
      ...{ ask: async () => ({ result: {} }), notify: () => undefined },
    }
    const loaded = {
      params: { ...params, _meta: { 'example/text': text }, task: { text }, requestState: text } as JsonObject,
      ...{ headers: ['Mcp-Param-Text', text], trace: { tracestate: text }, client },
    }
    await codeOf('hr_salaries')
    expect(await codeOf('web_post', loaded)).toBe('PRIVATE_SESSION')
    expect(JSON.stringify(approvals.pending.map((one) => one.arguments))).not.toContain(text)
    await approvals.answer('a1', { by: 'ann', via: 'cli', answer: 'once' })
    expect(await codeOf('web_post', loaded)).toBe('sent')
    expect(requests.at(-1)).toMatchObject({ params })
    expect(JSON.stringify(requests.at(-1))).not.toContain(text)
  })

  it('let no key or token pass, which the person was not shown, even if the entry allows them', async () => {
    const key = `AKIA${'IOSFODNN7EXAMPLF'}`
    const allowing = entry('web/post', { permission: ['CONNECT'], requiresApproval: false, secrets: 'allow' })
    const { codeOf, approvals, requests } = open({ entries: [allowing, sensitive('CONFIDENTIAL')] })
    const call = { params: { name: 'post', arguments: { text: `the key is ${key}` } } as JsonObject }
    await codeOf('hr_salaries')
    expect(await codeOf('web_post', call)).toBe('PRIVATE_SESSION')
    await approvals.answer('a1', { by: 'ann', via: 'cli', answer: 'once' })
    expect(await codeOf('web_post', call)).toBe('sent')
    expect(JSON.stringify(requests.at(-1)?.params)).toContain('the key is ')
    expect(JSON.stringify(requests.at(-1)?.params)).not.toContain(key)
  })

  it('are of one method: what is sent about a task of the tool needs an approval of its own', async () => {
    const { codeOf, approvals } = open()
    const asked = { params: { name: 'post' } as JsonObject }
    await codeOf('hr_salaries')
    expect(await codeOf('web_post', asked)).toBe('PRIVATE_SESSION')
    await approvals.answer('a1', { by: 'ann', via: 'cli', answer: 'once' })
    const params = { taskId: 't1', inputResponses: { text: 'Ada earns 5200' } } as JsonObject
    expect(await codeOf('web_post', { method: 'tasks/update', params })).toBe('PRIVATE_SESSION')
    expect(approvals.pending).toMatchObject([{ method: 'tasks/update', arguments: params }])
    expect(await codeOf('web_post', asked)).toBe('sent')
  })

  it('do not let an approved call pass whose definition was changed meanwhile', async () => {
    const { catalog, listings, run, approvals, requests } = open()
    await run('hr_salaries')
    await run('web_post')
    await approvals.answer('a1', { by: 'ann', via: 'cli', answer: 'once' })
    const claimed = run('web_post')
    // In the same turn: it was claimed by the old definition, and is not sent yet.
    catalog.put('web', changed(SERVERS.web))
    listings.invalidate()
    expect(await claimed).toMatchObject({ kind: 'failure', error: { code: 'PRIVATE_SESSION' } })
    expect(requests.filter(({ name }) => name === 'post')).toEqual([])
  })

  it('stay closed if the person refuses, with the reason', async () => {
    const { codeOf, run, approvals } = open()
    await codeOf('hr_salaries')
    expect(await codeOf('web_post')).toBe('PRIVATE_SESSION')
    await approvals.answer('a1', { by: 'ann', via: 'cli', answer: 'deny', why: 'not this' })
    for (let again = 0; again < 2; again++)
      expect(await run('web_post')).toMatchObject({ error: { code: 'APPROVAL_DENIED' } })
    expect(approvals.pending).toEqual([])
  })

  it('let calls pass to an isolated instance at every level, and to an allowed host below SECRET', async () => {
    for (const [sensitivity, route, outcome] of [
      ['SECRET', 'isolated-instance', 'sent'],
      ['CONFIDENTIAL', 'allowed-host', 'sent'],
      ['SECRET', 'allowed-host', 'PRIVATE_SESSION'],
    ] as const) {
      const { codeOf } = open({ entries: [CONNECTS, sensitive(sensitivity)], privateRouteOf: () => route })
      await codeOf('hr_salaries')
      expect(await codeOf('web_post')).toBe(outcome)
    }
  })
})

describe('a session that has read private data and untrusted text', () => {
  const writing = entry('hr/count', { permission: ['READ', 'WRITE'], requiresApproval: false })

  it('needs a person for what writes, only if labels.untrusted is on', async () => {
    for (const [untrusted, outcome] of [
      [true, 'PRIVATE_SESSION'],
      [false, 'sent'],
    ] as const) {
      const { codeOf } = open({ entries: [sensitive('CONFIDENTIAL'), writing], labelSettings: { untrusted } })
      expect(await codeOf('hr_count')).toBe('sent')
      expect(await codeOf('hr_salaries')).toBe('sent')
      expect(await codeOf('hr_count')).toBe(outcome)
    }
  })
})

describe(`the record of a call (${promise('GOV-25')})`, () => {
  it('has the label before and after', async () => {
    const { codeOf, log, events } = open()
    await codeOf('web_post')
    await codeOf('hr_salaries')
    await codeOf('web_post')
    const labelled = log.events.map((event) => [
      event.type,
      'label_before' in event ? event.label_before : undefined,
      'label_after' in event ? event.label_after : undefined,
    ])
    expect(labelled.filter(([type]) => type !== 'APPROVAL_REQUESTED')).toEqual([
      ['TOOL_CALL_STARTED', undefined, undefined],
      ['TOOL_CALL_COMPLETED', undefined, undefined],
      ['TOOL_CALL_STARTED', undefined, undefined],
      ['TOOL_CALL_COMPLETED', undefined, 'CONFIDENTIAL'],
      ['POLICY_DENIED', 'CONFIDENTIAL', undefined],
    ])
    expect(events).toEqual(['SENSITIVITY_RAISED'])
  })
})
