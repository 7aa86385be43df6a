import { mkdirSync, readFileSync, rmdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { HttpSession, ModernHttp } from '../harness/asked-client.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { errorOf, runCommand } from '../harness/run-command.ts'
import { endProcess, runGateway } from '../harness/run-gateway.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import { type ApprovalsBench, openApprovals, refusalOf } from './approvals-bench.ts'

const deleting = (id: string) => ({ name: 'counter_delete_it', arguments: { id } })

describe(`${promise('GOV-19')} a call that needs approval`, () => {
  let bench: ApprovalsBench
  let client: LegacyClient
  let run: (...args: string[]) => ReturnType<typeof runCommand>

  beforeAll(async () => {
    bench = await openApprovals()
    client = await LegacyClient.open(bench.gateway.mcp)
    const { home, state } = bench.gateway
    run = (...args) => runCommand([...args, '--home', home, '--state', state, '--json'])
  })

  afterAll(() => bench.close())

  it('waits, shows who calls which tool and why, and is made once when a second terminal approves', async () => {
    const answer = client.call('counter_delete_it', { id: 'one' })
    const [request] = await bench.waiting()
    expect(request).toMatchObject({
      ...{ agent: 'any', profile: 'default', server: 'counter', tool: 'mcp__counter__delete_it', risk: 'high' },
      arguments: { id: 'one' },
      reason: expect.stringContaining('requires_approval'),
      rule: { file: join(bench.gateway.home, 'tools.yaml'), line: expect.any(Number) },
    })
    const waitMs = Date.parse(request?.expiresAt) - Date.parse(request?.requestedAt)
    expect(waitMs).toBe(300_000)
    expect(bench.made()).toEqual([])
    const shown = await run('approvals', 'show', request?.id.slice(0, 8))
    expect(JSON.parse(shown.stdout)).toEqual(request)
    expect((await run('approvals', 'approve', request?.id.slice(0, 8))).code).toBe(0)
    expect(await answer).toMatchObject({ content: [{ text: 'one' }] })
    expect(bench.made()).toEqual(['one'])
    const [answered] = await bench.recorded('APPROVAL_ANSWERED')
    expect(answered).toMatchObject({ approval: request?.id, answer: 'once', via: 'cli' })
  })

  it(`${promise('GOV-21')} needs another approval for other arguments, and none for the same after "session"`, async () => {
    const before = bench.made().length
    const first = client.call('counter_delete_it', { id: 'bound' })
    const [request] = await bench.waiting()
    await bench.answer(request?.id, { answer: 'session' })
    await first
    expect(await client.call('counter_delete_it', { id: 'bound' })).toMatchObject({ content: [{ text: 'bound' }] })
    const other = client.call('counter_delete_it', { id: 'unbound' })
    const [next] = await bench.waiting()
    expect(next?.arguments).toEqual({ id: 'unbound' })
    expect((await run('approvals', 'deny', next?.id, '--why', 'not this one')).code).toBe(0)
    const refused = await other
    expect(refusalOf(refused)).toBe('APPROVAL_DENIED')
    expect(JSON.stringify(refused)).toContain('not this one')
    expect(bench.made().slice(before)).toEqual(['bound', 'bound'])
  })

  it('is made once after "always" if the file cannot be written, and the answer and the record say so', async () => {
    const { home, state } = bench.gateway
    const before = readFileSync(join(home, 'tools.yaml'), 'utf8')
    const lock = join(home, '.tools.yaml.lock')
    mkdirSync(lock)
    utimesSync(lock, 0, 0)
    const answer = client.call('counter_delete_it', { id: 'unwritten' })
    const [request] = await bench.waiting()
    const approve = ['approvals', 'approve', request?.id, '--always', '--yes', '--home', home, '--state', state]
    const approved = await runCommand(approve)
    rmdirSync(lock)
    expect(approved.code).toBe(0)
    expect(approved.stdout + approved.stderr).toMatch(
      /approved, but only this once\. The rule was not written: .*tools\.yaml/,
    )
    expect(await answer).toMatchObject({ content: [{ text: 'unwritten' }] })
    expect(readFileSync(join(home, 'tools.yaml'), 'utf8')).toBe(before)
    const ofAnswer = bench.gateway.records().filter(({ type }) => type === 'APPROVAL_ANSWERED')
    const records = ofAnswer.filter(({ approval }) => approval === request?.id)
    expect(records.map(({ answer }) => answer)).toEqual(['always', 'once'])
    expect(records.at(-1)).toMatchObject({
      type: 'APPROVAL_ANSWERED',
      unwritten: expect.stringContaining('tools.yaml'),
    })
    const explained = await runCommand(['explain', request?.callId, '--home', home, '--state', state])
    expect(explained.stdout).toMatch(/approved once by .*; the answer was "always", but the rule was not written: /)
  })

  it(`${promise('GOV-21')} needs no approval after "always", whose change is shown before it is written`, async () => {
    const file = join(bench.gateway.home, 'tools.yaml')
    const text = readFileSync(file, 'utf8')
    const answer = client.call('counter_delete_it', { id: 'for good' })
    const [request] = await bench.waiting()
    const asked = await run('approvals', 'approve', request?.id, '--always')
    expect([asked.code, errorOf(asked).code]).toEqual([2, 'USAGE'])
    const { change } = await bench.answer(request?.id, { answer: 'always', dryRun: true })
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(change.removed).toEqual(['    requires_approval: true'])
    expect((await run('approvals', 'approve', request?.id, '--always', '--yes')).code).toBe(0)
    await answer
    const lines = text.split('\n')
    lines.splice(change.line - 1, 1, ...change.added)
    expect(readFileSync(file, 'utf8')).toBe(lines.join('\n'))
    expect(change.added[0]).toMatch(/^ {4}requires_approval: false # approved for good by /)
    expect(await client.call('counter_delete_it', { id: 'unasked' })).toMatchObject({ content: [{ text: 'unasked' }] })
  })

  it('that does not exist has its own error code', async () => {
    const unknown = await run('approvals', 'deny', 'zzzz')
    expect([unknown.code, errorOf(unknown).code]).toEqual([3, 'APPROVAL_UNKNOWN'])
    const empty = await run('approvals', 'show', '')
    expect([empty.code, errorOf(empty).code]).toEqual([3, 'APPROVAL_UNKNOWN'])
  })
})

describe(`${promise('GOV-22')} a call whose approval cannot come`, () => {
  let bench: ApprovalsBench
  const open = async (governance?: Record<string, unknown>): Promise<ApprovalsBench> => {
    bench = await openApprovals(governance && { governance })
    return bench
  }

  afterEach(() => bench.close())

  const ended = (): Promise<unknown> => bench.recorded('APPROVAL_EXPIRED')

  it('is refused when the time runs out', async () => {
    const { gateway } = await open({ approval_timeout: '1s' })
    const client = await LegacyClient.open(gateway.mcp)
    expect(refusalOf(await client.call('counter_delete_it', { id: 'late' }))).toBe('APPROVAL_EXPIRED')
    const [{ approval } = {}] = await bench.recorded('APPROVAL_EXPIRED')
    expect((await bench.answer(approval, { answer: 'once' })).error.code).toBe('APPROVAL_SETTLED')
    expect(bench.made()).toEqual([])
  })

  it('is refused when a modern client closes its stream', async () => {
    const { gateway } = await open()
    const stream = new ModernHttp(gateway.mcp, { capabilities: {} }).open(deleting('gone'))
    const [{ id } = {}] = await bench.waiting()
    await stream.close()
    await ended()
    expect((await bench.answer(id, { answer: 'once' })).error.code).toBe('APPROVAL_SETTLED')
    expect(bench.made()).toEqual([])
  })

  it('is not made when a legacy client has closed its connection, though somebody approves it', async () => {
    const { gateway } = await open()
    const session = await HttpSession.open(gateway.mcp, {})
    const call = session.call(deleting('gone'))
    const [{ id } = {}] = await bench.waiting()
    await call.stream.close()
    // The gateway has noticed when its side of the connection is gone too: the next request is behind that.
    await session.request('tools/list')
    const answered = await bench.answer(id, { answer: 'once' })
    expect(answered).toMatchObject({ answer: 'once', callError: expect.stringContaining('closed') })
    const [denied] = await bench.recorded('POLICY_DENIED')
    expect(denied).toMatchObject({ error: 'CALL_CANCELLED', message: expect.stringContaining('closed') })
    expect(bench.made()).toEqual([])
  })

  it('has an end in the log, even if most of many calls are refused at once', async () => {
    const { gateway } = await open()
    const client = await LegacyClient.open(gateway.mcp)
    const calls = Array.from({ length: 150 }, (_, id) =>
      client.call('counter_delete_it', { id: String(id) }).catch(() => ({})),
    )
    await bench.waiting(100)
    await endProcess(gateway.child)
    await Promise.all(calls)
    const records = gateway.records()
    const idsOf = (...types: readonly string[]): readonly unknown[] =>
      records.filter(({ type }) => types.includes(String(type))).map(({ approval }) => approval)
    expect(idsOf('APPROVAL_REQUESTED')).toHaveLength(100)
    expect(idsOf('APPROVAL_EXPIRED').toSorted()).toEqual(idsOf('APPROVAL_REQUESTED').toSorted())
  })

  it('is refused when a legacy client cancels it, or ends its session', async () => {
    const { gateway } = await open()
    const session = await HttpSession.open(gateway.mcp, {})
    const call = session.call(deleting('cancelled'))
    await bench.waiting()
    await call.cancel()
    await bench.recorded('APPROVAL_EXPIRED', 1)
    session.call(deleting('ended'))
    await bench.waiting()
    await session.end()
    await bench.recorded('APPROVAL_EXPIRED', 2)
    expect(bench.made()).toEqual([])
  })

  it('is refused when the window of a stdio client closes', async () => {
    const { gateway } = await open()
    const window = openWindow(gateway)
    await window.initialize()
    void window.request('tools/call', deleting('gone')).catch(() => {})
    const [{ id } = {}] = await bench.waiting()
    await window.kill()
    await ended()
    expect((await bench.answer(id, { answer: 'once' })).error.code).toBe('APPROVAL_SETTLED')
    expect(bench.made()).toEqual([])
  })

  it('is refused when the gateway stops normally', async () => {
    const { gateway } = await open()
    const window = openWindow(gateway)
    await window.initialize()
    const answer = window.call('counter_delete_it', { id: 'stopped' }).catch(() => ({}))
    await bench.waiting()
    await endProcess(gateway.child)
    await answer
    await window.kill()
    expect(gateway.records().filter(({ type }) => type === 'APPROVAL_EXPIRED')).toHaveLength(1)
    expect(bench.made()).toEqual([])
  })

  it('is over after a kill: it is recorded as expired at the next start, and cannot be answered', async () => {
    const { gateway } = await open()
    const client = await LegacyClient.open(gateway.mcp)
    const done = client.call('counter_delete_it', { id: 'answered' })
    const [first] = await bench.waiting()
    await bench.answer(first?.id, { answer: 'once' })
    await done
    const calls = ['a', 'b'].map((id) => client.call('counter_delete_it', { id }).catch(() => ({})))
    const killed = await bench.waiting(2)
    gateway.child.kill('SIGKILL')
    await Promise.all(calls)
    const place = { ...gateway, remove: () => {} }
    const again = await runGateway({ place })
    try {
      const expired = await bench.recorded('APPROVAL_EXPIRED', 2)
      expect(expired.map(({ approval }) => approval).sort()).toEqual(killed.map(({ id }) => id).sort())
      expect(expired[0]).toMatchObject({ tool_name: 'mcp__counter__delete_it', agent: 'any' })
      const headers = { authorization: `Bearer ${again.token('operator')}`, 'content-type': 'application/json' }
      for (const { id } of killed) {
        const sent = { method: 'POST', headers, body: JSON.stringify({ answer: 'once' }) }
        const { error } = (await (await fetch(`${again.url}/api/approvals/${id}`, sent)).json()) as Record<string, any>
        expect(error.code).toBe('APPROVAL_SETTLED')
      }
      expect(bench.made()).toEqual(['answered'])
    } finally {
      await endProcess(again.child)
    }
    const third = await runGateway({ place })
    await endProcess(third.child)
    expect(gateway.records().filter(({ type }) => type === 'APPROVAL_EXPIRED')).toHaveLength(2)
  })
})

describe('many calls that wait', () => {
  let bench: ApprovalsBench

  beforeAll(async () => {
    // So many denials would else put ALERT in force.
    bench = await openApprovals({ governance: { escalation: { policy_violations: false } } })
  })

  afterAll(() => bench.close())

  it(`${promise('GOV-19')} do not delay other calls, and each gets its own answer`, async () => {
    const client = await LegacyClient.open(bench.gateway.mcp)
    const calls = Array.from({ length: 100 }, (_, at) => client.call('counter_delete_it', { id: `w${at}` }))
    const waiting = await bench.waiting(100)
    const others = Array.from({ length: 200 }, (_, at) => client.call('counter_list_it', { id: `r${at}` }))
    expect((await Promise.all(others)).every(({ content }) => content[0].text.startsWith('r'))).toBe(true)
    expect(bench.made().filter((id) => id.startsWith('w'))).toEqual([])
    expect(refusalOf(await client.call('counter_delete_it', { id: 'too many' }))).toBe('OVERLOADED')
    const isLucky = ({ arguments: { id } }: Record<string, any>): boolean => Number(id.slice(1)) % 2 === 0
    await Promise.all(waiting.map((one) => bench.answer(one.id, { answer: isLucky(one) ? 'once' : 'deny' })))
    const answers = await Promise.all(calls)
    const wanted = waiting.filter(isLucky).map(({ arguments: { id } }) => id)
    expect(answers.flatMap(({ isError, content }) => (isError ? [] : [content[0].text])).sort()).toEqual(wanted.sort())
    expect(
      bench
        .made()
        .filter((id) => id.startsWith('w'))
        .sort(),
    ).toEqual(wanted)
  })

  it(`${promise('GOV-20')} are answered once when two terminals answer at the same time`, async () => {
    const client = await LegacyClient.open(bench.gateway.mcp)
    for (const round of ['one', 'two', 'three', 'four']) {
      const call = client.call('counter_delete_it', { id: round })
      const [{ id } = {}] = await bench.waiting()
      const both = await Promise.all([bench.answer(id, { answer: 'once' }), bench.answer(id, { answer: 'deny' })])
      const lost = both.filter(({ error }) => error !== undefined)
      expect(lost.map(({ error }) => error.code)).toEqual(['APPROVAL_SETTLED'])
      const approved = both.some(({ answer }) => answer === 'once')
      expect(refusalOf(await call)).toBe(approved ? undefined : 'APPROVAL_DENIED')
      expect(bench.made().filter((made) => made === round)).toEqual(approved ? [round] : [])
    }
  })

  it('cannot be answered too late', async () => {
    const { home, state } = bench.gateway
    const client = await LegacyClient.open(bench.gateway.mcp)
    const call = client.call('counter_delete_it', { id: 'watched' })
    const [{ id } = {}] = await bench.waiting()
    await bench.answer(id, { answer: 'deny' })
    await call
    const late = await runCommand(['approvals', 'approve', id, '--home', home, '--state', state, '--json'])
    expect([late.code, errorOf(late).code]).toEqual([1, 'APPROVAL_SETTLED'])
    const list = await runCommand(['approvals', '--home', home, '--state', state, '--json'])
    expect(JSON.parse(list.stdout)).toEqual({ approvals: [] })
    expect(bench.made()).not.toContain('watched')
  })
})
