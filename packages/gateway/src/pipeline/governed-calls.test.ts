import {
  ALLOW,
  type JsonObject,
  type PolicyFields,
  SallyportError,
  type ToolEntry,
  type Verdict,
} from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog, tool } from '../catalog/catalog.test-kit.ts'
import { type AutoApproval, DEFAULT_SETTINGS, type GovernanceSettings } from '../config/config.ts'
import { computePin } from '../governance/governance.ts'
import type { Client, ClientCall, Frame, QuestionAnswer } from '../upstream/upstream.ts'
import type { Answer } from './call.ts'
import { ANN, createCall, createTestPipeline, type TestPipelineOptions, toTestFrame } from './pipeline.test-kit.ts'

const FILES = { files: createCatalog(['read', 'weigh']) }
const entry = (fields: PolicyFields, key = 'mcp__files__weigh'): ToolEntry => ({ key, line: 7, fields, lines: {} })
const codeIn = (answer: Answer): string => (answer.kind === 'failure' ? answer.error.code : answer.kind)

function createRuledPipeline(fields: PolicyFields, options: Partial<TestPipelineOptions> = {}) {
  const made = createTestPipeline({ catalogues: FILES, entries: [entry(fields)], ...options })
  const call = (changes: Parameters<typeof createCall>[1] = {}) =>
    made.pipeline.run(createCall(made.catalog.snapshot.tool('files_weigh'), changes))
  const untilAsked = (): Promise<string> =>
    new Promise((resolve) => {
      made.approvals.onChange(({ kind, approval: { id } }) => kind === 'requested' && resolve(id))
    })
  return { ...made, call, untilAsked }
}

function deferredVerdict(): { readonly verdict: Promise<Verdict>; settle(verdict: Verdict): void } {
  let settle: (verdict: Verdict) => void = () => {}
  const verdict = new Promise<Verdict>((resolve) => {
    settle = resolve
  })
  return { verdict, settle: (given) => settle(given) }
}

const YES = { answer: 'once', by: 'olga', via: 'api' } as const

describe('a call that needs approval', () => {
  it('is not sent before somebody approves it, and its record names the approval', async () => {
    const { approvals, requests, log, gauge, call, untilAsked } = createRuledPipeline({ requiresApproval: true })
    const asked = untilAsked()
    const answer = call({ params: { name: 'weigh', arguments: { a: 1 } } })
    const id = await asked
    expect([requests.length, gauge.inFlight]).toEqual([0, 0])
    await approvals.answer(id, YES)
    expect(codeIn(await answer)).toBe('frame')
    expect(log.types).toEqual(['APPROVAL_REQUESTED', 'APPROVAL_ANSWERED', 'TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED'])
    expect(log.events[2]).toMatchObject({
      approval: id,
      decided_by: { step: 'approve', reason: 'approved (once) by olga', rule: { file: 'tools.yaml', line: 7 } },
    })
  })

  it.each(['deny', 'LOCKDOWN', 'close'] as const)('is never sent after %s', async (what) => {
    const { approvals, requests, log, setMode, call, untilAsked } = createRuledPipeline({ requiresApproval: true })
    const asked = untilAsked()
    const answer = call()
    const id = await asked
    if (what === 'LOCKDOWN') setMode('LOCKDOWN')
    if (what === 'close') approvals.close('the gateway stopped')
    else await approvals.answer(id, { ...YES, answer: what === 'deny' ? 'deny' : 'once' })
    const expected = { deny: 'APPROVAL_DENIED', LOCKDOWN: 'MODE_FORBIDS', close: 'APPROVAL_EXPIRED' }
    expect(codeIn(await answer)).toBe(expected[what])
    expect(requests).toEqual([])
    expect(log.types.at(-1)).toBe('POLICY_DENIED')
  })

  it('needs no approval for requests about the task that it created', async () => {
    const { call } = createRuledPipeline({ requiresApproval: true })
    expect(codeIn(await call({ method: 'tasks/get', params: { taskId: 't1' } }))).toBe('frame')
    const asked = createRuledPipeline({ requiresApproval: true })
    const waiting = asked.untilAsked()
    const smuggled = asked.call({ params: { name: 'weigh', taskId: 't1' }, subject: 't1' })
    await asked.approvals.answer(await waiting, { ...YES, answer: 'deny' })
    expect(codeIn(await smuggled)).toBe('APPROVAL_DENIED')
  })

  it(`${promise('GOV-16')} is checked against the argument rules of its entry, and requests about its task are not`, async () => {
    const { call, requests } = createRuledPipeline({
      arguments: { fields: { unit: { required: true } }, denyPatterns: [] },
    })
    expect(codeIn(await call({ method: 'tasks/get', params: { taskId: 't1' } }))).toBe('frame')
    await call({ params: { name: 'weigh', arguments: {} } })
    expect(requests.map(({ method }) => method)).not.toContain('tools/call')
  })

  it('needs no second approval for the same arguments in the same session, but one for other arguments', async () => {
    const { approvals, call, untilAsked } = createRuledPipeline({ requiresApproval: true })
    const params = { name: 'weigh', arguments: { a: 1, b: 2 } }
    const asked = untilAsked()
    const first = call({ params })
    await approvals.answer(await asked, { ...YES, answer: 'session' })
    await first
    expect(codeIn(await call({ params: { name: 'weigh', arguments: { b: 2, a: 1 } } }))).toBe('frame')
    const again = untilAsked()
    const other = call({ params: { name: 'weigh', arguments: { a: 1, b: 3 } } })
    await approvals.answer(await again, { ...YES, answer: 'deny' })
    expect(codeIn(await other)).toBe('APPROVAL_DENIED')
  })
})

describe('the client of a call that needs approval', () => {
  const clientSaying = (result: QuestionAnswer): Client & { asked: number } => ({
    era: 'legacy',
    capabilities: { elicitation: {} },
    clientInfo: undefined,
    conversation: 'w1',
    logLevel: undefined,
    answersInCall: true,
    asked: 0,
    ask() {
      this.asked++
      return Promise.resolve(result)
    },
    notify: () => {},
  })

  it.each([
    [{ action: 'accept', content: { answer: 'once' } }, 'frame'],
    [{ action: 'accept', content: { answer: 'deny', why: 'no' } }, 'APPROVAL_DENIED'],
    [{ action: 'decline' }, 'APPROVAL_DENIED'],
  ])('that may approve is asked, and %j means %s', async (result, outcome) => {
    const { call } = createRuledPipeline({ requiresApproval: true }, { clientMayApprove: true })
    expect(codeIn(await call({ client: clientSaying({ result }) }))).toBe(outcome)
  })

  it.each([{ action: 'accept', content: { answer: 'always' } }, { action: 'accept' }, { action: 'cancel' }])(
    'that answers %j decides nothing',
    async (result) => {
      const { call, approvals, untilAsked } = createRuledPipeline(
        { requiresApproval: true },
        { clientMayApprove: true },
      )
      const asked = untilAsked()
      const answer = call({ client: clientSaying({ result }) })
      await approvals.answer(await asked, { ...YES, answer: 'deny' })
      expect(codeIn(await answer)).toBe('APPROVAL_DENIED')
    },
  )

  it('that may not approve is not asked', async () => {
    const { call, approvals, untilAsked } = createRuledPipeline({ requiresApproval: true })
    const client = clientSaying({ result: { action: 'accept', content: { answer: 'once' } } })
    const asked = untilAsked()
    const answer = call({ client })
    await approvals.answer(await asked, { ...YES, answer: 'deny' })
    expect([codeIn(await answer), client.asked]).toEqual(['APPROVAL_DENIED', 0])
  })
})

describe('an entry', () => {
  it('hides a tool from lists and calls alike', async () => {
    const { call, listings, requests } = createRuledPipeline({ hidden: true })
    expect(codeIn(await call())).toBe('CALL_DENIED')
    expect(
      listings.offers('tools/list', createCall(createRuledPipeline({}).catalog.snapshot.tools[0]).principal),
    ).toHaveLength(1)
    expect(requests).toEqual([])
  })

  it('limits how often a tool is called, and how many calls of it run at once', async () => {
    let now = 0
    const often = createRuledPipeline({ rateLimitPerMinute: 2 }, { now: () => now })
    expect([codeIn(await often.call()), codeIn(await often.call())]).toEqual(['frame', 'frame'])
    expect(codeIn(await often.call())).toBe('RATE_LIMITED')
    now = 60_001
    expect(codeIn(await often.call())).toBe('frame')
    const many = createRuledPipeline({ maxConcurrent: 1 })
    expect((await Promise.all([many.call(), many.call()])).map(codeIn)).toEqual(['frame', 'RATE_LIMITED'])
  })

  it('also limits calls whose arguments are checked in another thread, and names the limit', async () => {
    const lines = { maxConcurrent: 9, rateLimitPerMinute: 8 }
    const entries = [{ ...entry({ maxConcurrent: 1, rateLimitPerMinute: 5 }), lines }]
    const { call, requests, log } = createRuledPipeline({}, { entries, check: async () => ALLOW })
    const answers = await Promise.all([call(), call(), call()])
    expect(answers.map(codeIn).toSorted()).toEqual(['RATE_LIMITED', 'RATE_LIMITED', 'frame'])
    expect(requests).toHaveLength(1)
    expect(log.types.filter((type) => type === 'POLICY_DENIED')).toHaveLength(2)
    const { pipeline, catalog } = createRuledPipeline({}, { entries, serve: () => new Promise(() => {}) })
    const offer = catalog.snapshot.tool('files_weigh')
    void pipeline.run(createCall(offer))
    const { verdicts } = await pipeline.decide(createCall(offer))
    expect(verdicts.at(-1)?.verdict).toMatchObject({ code: 'RATE_LIMITED', rule: { line: 9 } })
  })

  it('that is not enforced refuses nothing, and the record says what it would have done', async () => {
    const { call, log } = createRuledPipeline({ requiresApproval: true, enforce: false })
    expect(codeIn(await call())).toBe('frame')
    expect(log.events[0]).toMatchObject({ type: 'TOOL_CALL_STARTED', would: { outcome: 'ask' } })
  })

  it('with the pin of another definition closes the tool', async () => {
    const { call, requests } = createRuledPipeline({ pin: 'sha256-0' })
    expect(codeIn(await call())).toBe('DEFINITION_CHANGED')
    expect(requests).toEqual([])
  })
})

it('a lockdown applies from the next dispatch on, whatever was decided before', async () => {
  const { call, setMode, requests, log } = createRuledPipeline({})
  const record = log.append.bind(log)
  log.append = (event) => {
    record(event)
    setMode('LOCKDOWN')
  }
  expect(codeIn(await call())).toBe('MODE_FORBIDS')
  expect(requests).toEqual([])
})

it(`${promise('GOV-22')} a call is not sent if its token was revoked after the decision`, async () => {
  const revoked = new Set<string>()
  const { call, requests, log } = createRuledPipeline({}, { isTokenValid: (token) => !revoked.has(token) })
  const principal = { ...ANN, token: 'f00' }
  expect(codeIn(await call({ principal }))).toBe('frame')
  const record = log.append.bind(log)
  log.append = (event) => {
    record(event)
    revoked.add('f00')
  }
  expect(codeIn(await call({ principal }))).toBe('UNAUTHENTICATED')
  expect(requests).toHaveLength(1)
  expect(log.types.slice(-2)).toEqual(['TOOL_CALL_STARTED', 'POLICY_DENIED'])
})

describe('a token that is revoked while its call runs', () => {
  const principal = { ...ANN, token: 'f00' }

  it(`${promise('GOV-22')} gets no result, and the end of the call is recorded`, async () => {
    let isRevoked = false
    const serve = async () => {
      isRevoked = true
      return toTestFrame({
        jsonrpc: '2.0',
        id: 1,
        result: { content: [{ type: 'text', text: 'what it may not know' }] },
      })
    }
    const { call, requests, log } = createRuledPipeline({}, { serve, isTokenValid: () => !isRevoked })
    const answer = await call({ principal })
    expect(codeIn(answer)).toBe('RESULT_WITHHELD')
    expect(JSON.stringify(answer)).not.toContain('what it may not know')
    expect(requests).toHaveLength(1)
    expect(log.types).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_FAILED'])
  })

  it('still gets a failure unchanged: it does not say that the call was made', async () => {
    let isRevoked = false
    const serve = async () => {
      isRevoked = true
      throw new SallyportError('UPSTREAM_UNAVAILABLE', 'It is gone.')
    }
    const { call } = createRuledPipeline({}, { serve, isTokenValid: () => !isRevoked })
    expect(codeIn(await call({ principal }))).toBe('UPSTREAM_UNAVAILABLE')
  })
})

it('a call that ends while its permit is renewed is not also recorded as refused', async () => {
  const slow = deferredVerdict()
  const checks = [ALLOW, slow.verdict]
  let renewing: Promise<SallyportError | undefined> | undefined
  const serve = async ({ permit }: ClientCall): Promise<Frame> => {
    made.setMode('NORMAL')
    renewing = permit.renew()
    throw new SallyportError('CALL_CANCELLED', 'Nobody waits.')
  }
  const made = createRuledPipeline({}, { serve, check: () => checks.shift() ?? ALLOW })
  expect(codeIn(await made.call())).toBe('CALL_CANCELLED')
  slow.settle({ outcome: 'deny', code: 'ARGUMENTS_INVALID', reason: 'No.' })
  expect((await renewing)?.code).toBe('CALL_CANCELLED')
  expect(made.log.types).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_FAILED'])
})

describe('a call that waits for the check of its arguments', () => {
  type Made = ReturnType<typeof createRuledPipeline>
  const changes: readonly [string, string, (made: Made, revoked: Set<string>) => unknown][] = [
    ['nothing changes', 'frame', () => undefined],
    [`there is a lockdown (${promise('GOV-13')})`, 'MODE_FORBIDS', (made) => made.setMode('LOCKDOWN')],
    [`its token is revoked (${promise('GOV-22')})`, 'UNAUTHENTICATED', (_made, revoked) => revoked.add('f00')],
    [
      `its server changes the tool (${promise('GOV-9')})`,
      'DEFINITION_CHANGED',
      ({ catalog }) => catalog.put('files', { ...FILES.files, tools: [tool('weigh', { description: 'Other.' })] }),
    ],
  ]

  it.each(changes)('when %s: %s', async (_says, code, change) => {
    const slow = deferredVerdict()
    const revoked = new Set<string>()
    const weigh = FILES.files.tools.find(({ name }) => name === 'weigh')
    const options = { check: () => slow.verdict, isTokenValid: (token: string) => !revoked.has(token) }
    const made = createRuledPipeline({ pin: computePin({ kind: 'tool', original: weigh } as never) }, options)
    const answer = made.call({ principal: { ...ANN, token: 'f00' } })
    change(made, revoked)
    slow.settle(ALLOW)
    expect(codeIn(await answer)).toBe(code)
    expect(made.requests).toHaveLength(code === 'frame' ? 1 : 0)
  })
})

describe(`${promise('GOV-11')} rules that change while a call is in flight`, () => {
  const KEY = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`

  it('apply to the result', async () => {
    const entries = [entry({ secrets: 'allow' })]
    const serve = async () => {
      entries[0] = entry({})
      made.setMode('NORMAL')
      return toTestFrame({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: KEY }] } })
    }
    const made = createRuledPipeline({}, { entries, serve })
    const answer = await made.call()
    if (answer.kind !== 'frame') throw answer.error
    expect(Buffer.concat(answer.frame.parts).toString()).not.toContain(KEY)
  })

  it('apply to the request, if they changed before it was sent', async () => {
    const entries = [entry({ secrets: 'allow' })]
    const made = createRuledPipeline({}, { entries })
    const record = made.log.append.bind(made.log)
    made.log.append = (event) => {
      record(event)
      entries[0] = entry({ secrets: 'redact' })
      made.setMode('NORMAL')
    }
    await made.call({ params: { name: 'weigh', arguments: { key: KEY } } })
    expect(made.requests).toHaveLength(1)
    expect(JSON.stringify(made.requests[0]?.params)).not.toContain(KEY)
  })
})

it(`${promise('GOV-9')} a call is decided by the definition that is current after its arguments were checked`, async () => {
  const entries: ToolEntry[] = []
  const checks: ((verdict: typeof ALLOW) => void)[] = []
  const check = () => new Promise<typeof ALLOW>((resolve) => checks.push(resolve))
  const { call, catalog, setMode, requests } = createRuledPipeline({}, { entries, check })
  const reviewed = catalog.snapshot.tool('files_weigh')
  if (!reviewed) throw new Error('There is no such tool.')
  entries.push(entry({ pin: computePin(reviewed) }))
  setMode('NORMAL')
  const answer = call()
  catalog.put('files', createCatalog(['read'], { tools: [tool('weigh', { description: 'Weigh, and tell me.' })] }))
  checks[0]?.(ALLOW)
  expect(codeIn(await answer)).toBe('DEFINITION_CHANGED')
  expect(requests).toEqual([])
})

describe(`${promise('GOV-23')} what needs no approval`, () => {
  const autoApprove = (rule: Partial<AutoApproval>): Partial<TestPipelineOptions> => ({
    governance: {
      autoApprove: [
        {
          tool: 'files/weigh',
          agent: undefined,
          profile: undefined,
          paths: undefined,
          arguments: undefined,
          location: { file: 'config.yaml', line: 9 },
          ...rule,
        },
      ],
    },
  })
  const dryOnly = { fields: { mode: { const: 'dry' } }, denyPatterns: [] }

  it.each<[string, Partial<AutoApproval>, JsonObject, boolean]>([
    ['a rule for the tool', {}, {}, true],
    ['a rule for a glob of its name', { tool: 'mcp__files__*' }, {}, true],
    ['a rule for another tool', { tool: 'files/read' }, {}, false],
    ['a rule for its agent', { agent: 'any' }, {}, true],
    ['a rule for another agent', { agent: 'codex' }, {}, false],
    ['a rule for another profile', { profile: 'reviewer' }, {}, false],
    ['a rule that its arguments match', { arguments: dryOnly }, { mode: 'dry' }, true],
    ['a rule that its arguments do not match', { arguments: dryOnly }, { mode: 'wet' }, false],
    ['a rule for paths, for a call without paths', { paths: ['/tmp/**'] }, {}, false],
  ])('%s', async (_what, rule, args, isAutoApproved) => {
    const { pipeline, catalog } = createRuledPipeline({ requiresApproval: true }, autoApprove(rule))
    const params = { name: 'weigh', arguments: args }
    const decision = await pipeline.decide(createCall(catalog.snapshot.tool('files_weigh'), { params }))
    expect(decision.outcome).toBe(isAutoApproved ? 'allow' : 'ask')
    if (isAutoApproved) expect(decision.verdicts.at(-1)?.verdict.rule).toEqual({ file: 'config.yaml', line: 9 })
  })

  it.each<[Partial<AutoApproval>, 'allow' | 'ask']>([
    [{ agent: 'codex' }, 'ask'],
    [{ profile: 'default' }, 'ask'],
    [{}, 'allow'],
  ])('does not include rules for an agent that the caller only claims to be: %j', async (rule, outcome) => {
    const { pipeline, catalog } = createRuledPipeline({ requiresApproval: true }, autoApprove(rule))
    const principal = { ...ANN, agent: 'codex', isClaimed: true } as const
    const decision = await pipeline.decide(createCall(catalog.snapshot.tool('files_weigh'), { principal }))
    expect(decision.outcome).toBe(outcome)
  })

  it.each<[JsonObject, 'allow' | 'ask']>([
    [{ path: '/tmp/a' }, 'allow'],
    [{ path: '/tmp/a', source: '/srv/b' }, 'ask'],
    [{}, 'ask'],
  ])('includes a call whose paths are all in unattended_paths: %j', async (args, outcome) => {
    const { pipeline, catalog } = createRuledPipeline({ requiresApproval: true, unattendedPaths: ['/tmp/**'] })
    const params = { name: 'weigh', arguments: args }
    const decision = await pipeline.decide(createCall(catalog.snapshot.tool('files_weigh'), { params }))
    expect(decision.outcome).toBe(outcome)
  })

  it('does not exist in a lockdown, neither by a rule nor by an earlier answer', async () => {
    const fields = { requiresApproval: true, essential: true, permission: ['READ'] } as const
    const { approvals, call, untilAsked, setMode, pipeline, catalog } = createRuledPipeline(
      fields,
      autoApprove({ agent: 'codex' }),
    )
    const asked = untilAsked()
    const first = call()
    await approvals.answer(await asked, { ...YES, answer: 'session' })
    await first
    const decide = () => pipeline.decide(createCall(catalog.snapshot.tool('files_weigh')))
    expect((await decide()).outcome).toBe('allow')
    setMode('LOCKDOWN')
    expect((await decide()).outcome).toBe('ask')
    const approved = createRuledPipeline(fields, autoApprove({}))
    approved.setMode('LOCKDOWN')
    expect((await approved.pipeline.decide(createCall(approved.catalog.snapshot.tool('files_weigh')))).outcome).toBe(
      'ask',
    )
  })
})

describe(`${promise('GOV-7')} the settings for a risk`, () => {
  const { defaults, riskTokens } = DEFAULT_SETTINGS.governance
  const careful = { ...defaults, medium: { allowedInModes: ['NORMAL'], requiresApproval: true } } as const
  const location = { file: 'config.yaml', line: 3 }
  const pattern = { tool: 'mcp__*__weigh', fields: { riskLevel: 'high' }, location } as const

  it.each<[string, Partial<GovernanceSettings>, 'allow' | 'ask']>([
    ['the defaults', {}, 'allow'],
    ['another default for the risk', { defaults: careful }, 'ask'],
    ['a pattern for the name', { patterns: [pattern] }, 'ask'],
    ['a word of the name', { riskTokens: { ...riskTokens, high: [...riskTokens.high, 'weigh'] } }, 'ask'],
  ])('decide whether a call needs approval: %s', async (_what, governance, outcome) => {
    const { pipeline, catalog } = createRuledPipeline({}, { entries: [], governance })
    expect((await pipeline.decide(createCall(catalog.snapshot.tool('files_weigh')))).outcome).toBe(outcome)
  })
})

describe('a call that is rechecked because the rules changed before it was sent', () => {
  const recheck = async (fields: PolicyFields, options: Partial<TestPipelineOptions> = {}): Promise<string> => {
    const { call, setMode, gauge } = createRuledPipeline(fields, options)
    const answer = call()
    setMode('DEGRADED')
    const code = codeIn(await answer)
    expect(gauge.inFlight).toBe(0)
    return code
  }

  it.each<[string, PolicyFields, Partial<TestPipelineOptions>]>([
    ['max_concurrent', { maxConcurrent: 1 }, {}],
    ['rate_limit_per_minute', { rateLimitPerMinute: 1 }, {}],
    ['max_calls_in_flight', {}, { maxCalls: 1 }],
  ])('does not count itself for %s', async (_, fields, options) => {
    expect(await recheck(fields, options)).toBe('frame')
  })

  it('is refused if the other calls alone reach a new limit', async () => {
    const entries = [entry({ maxConcurrent: 2 })]
    const { pipeline, catalog, setMode } = createTestPipeline({ catalogues: FILES, entries })
    const calls = [1, 2].map(() => pipeline.run(createCall(catalog.snapshot.tool('files_weigh'))))
    entries[0] = entry({ maxConcurrent: 1 })
    setMode('NORMAL')
    expect((await Promise.all(calls)).map(codeIn)).toContain('RATE_LIMITED')
  })

  it('is not counted by a new limit', async () => {
    const entries = [entry({})]
    const { pipeline, catalog, setMode } = createTestPipeline({ catalogues: FILES, entries })
    const uncounted = pipeline.run(createCall(catalog.snapshot.tool('files_weigh')))
    entries[0] = entry({ maxConcurrent: 1 })
    setMode('NORMAL')
    const counted = pipeline.run(createCall(catalog.snapshot.tool('files_weigh')))
    setMode('NORMAL')
    expect((await Promise.all([uncounted, counted])).map(codeIn)).toEqual(['RATE_LIMITED', 'frame'])
  })
})
