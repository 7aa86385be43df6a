import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findLastingPort } from '../harness/lasting-port.ts'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { errorCode, type FaultBench, type Json, openFaultBench, textOf } from './fault-bench.ts'

const HTTP_SERVER = join(REPOSITORY, 'tests/fixtures/http-server.mjs')

interface HttpUpstream {
  readonly port: number
  url(path?: string): string
  seen(): Promise<Json>
  forget(): Promise<unknown>
  stop(): Promise<void>
}

const running = new Set<ChildProcess>()

async function startHttp(...args: readonly string[]): Promise<HttpUpstream> {
  const child = spawn(process.execPath, [HTTP_SERVER, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  running.add(child)
  const [first] = await once(child.stdout, 'data')
  const port = Number(String(first))
  const url = (path = '/mcp'): string => `http://127.0.0.1:${port}${path}`
  return {
    port,
    url,
    seen: async () => (await (await fetch(url('/seen'))).json()) as Json,
    forget: () => fetch(url('/forget'), { method: 'POST' }),
    stop: () => stop(child),
  }
}

async function stop(child: ChildProcess): Promise<void> {
  running.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

let bench: FaultBench
let call: (tool: string, args?: object) => Promise<Json>
let legacy: HttpUpstream
let modern: HttpUpstream
let forgetful: HttpUpstream
let leaving: HttpUpstream
let failing: HttpUpstream
let locked: HttpUpstream
/** Keeps no sessions, so that several entries can share it. */
let loose: HttpUpstream

beforeAll(async () => {
  ;[legacy, modern, forgetful, leaving, failing, locked, loose] = await Promise.all([
    startHttp('--era', 'legacy'),
    startHttp('--era', 'modern', '--answers', 'sse'),
    startHttp('--era', 'legacy'),
    startHttp('--era', 'legacy', '--port', String(await findLastingPort())),
    startHttp('--era', 'legacy', '--port', String(await findLastingPort())),
    startHttp('--era', 'legacy', '--port', String(await findLastingPort())),
    startHttp('--era', 'legacy', '--no-session'),
  ])
  bench = await openFaultBench({
    legacy: { url: legacy.url(), headers: { authorization: 'Bearer a-secret' } },
    modern: { url: modern.url() },
    hurried: { url: loose.url(), timeouts: { call: '1s' } },
    forgetful: { url: forgetful.url() },
    leaving: { url: leaving.url() },
    failing: { url: failing.url() },
    locked: { url: locked.url() },
    moved: { url: loose.url('/moved') },
    away: { url: loose.url('/away') },
    nobody: { url: 'http://127.0.0.1:9/mcp' },
  })
  call = (tool, args) => bench.window.call(tool, args)
  const ready = ['legacy', 'modern', 'hurried', 'forgetful', 'leaving', 'failing', 'locked', 'moved']
  await Promise.all(ready.map((id) => bench.until(id, 'ready')))
})

afterAll(async () => {
  await bench.close()
  await Promise.all([...running].map(stop))
})

afterEach(() => bench.expectUnharmed())

/** Calls until it answers again, and returns what it got meanwhile. */
async function refusalsUntilBack(tool: string): Promise<readonly string[]> {
  const codes: string[] = []
  await eventually(
    async () => {
      const result = await call(tool, { text: 'back' })
      if (result.isError) codes.push(errorCode(result))
      return result
    },
    (result) => !result.isError,
  )
  return codes
}

describe('a server over HTTP whose answers are wrong', () => {
  it.each([
    ['drop', 'UPSTREAM_DIED'],
    ['wrong_id_json', 'UPSTREAM_PROTOCOL'],
    ['accepted', 'UPSTREAM_PROTOCOL'],
    ['html', 'UPSTREAM_PROTOCOL'],
    ['html_500', 'UPSTREAM_FAILED'],
    ['forbidden', 'UPSTREAM_NEEDS_LOGIN'],
    ['busy', 'UPSTREAM_UNAVAILABLE'],
    ['zipped', 'UPSTREAM_PROTOCOL'],
  ])('fails only that call, with the name of the server (%s)', async (tool, code) => {
    const results = await bench.besiege(() =>
      Promise.all([
        call(`legacy_${tool}`),
        call(`modern_${tool}`),
        call('legacy_echo', { text: 'a' }),
        call('modern_echo', { text: 'b' }),
      ]),
    )
    const [legacyResult, modernResult, ...unharmed] = results
    expect(errorCode(legacyResult as Json)).toBe(code)
    expect(errorCode(modernResult as Json)).toBe(code)
    expect(unharmed.map(textOf)).toEqual(['a', 'b'])
    expect(JSON.stringify(results)).not.toContain('a-secret')
  })

  it.each([
    ['wrong_id', 'yours'],
    ['two_answers', 'first'],
    ['linger', 'answered'],
    ['drop_resumable', 'resumed'],
    ['drip', ''],
    ['ask', 'they answered'],
  ])(`${promise('GW-20')} still gets the right answer out of %s`, async (tool, text) => {
    expect(textOf(await bench.besiege(() => call(`legacy_${tool}`)))).toBe(text)
  })

  it('fails a call that is never answered, and closes its connection', async () => {
    const { left } = await loose.seen()
    expect(errorCode(await bench.besiege(() => call('hurried_hang')))).toBe('UPSTREAM_TIMEOUT')
    await eventually(
      () => loose.seen(),
      (seen) => seen.left > left && seen.hanging === 0,
    )
  })

  it('passes on progress in order, and none after the result', async () => {
    const params = { name: 'legacy_progress', arguments: { count: 50 }, _meta: { progressToken: 7 } }
    const { before, message } = await modernRequest(bench.gateway.mcp, 'tools/call', params)
    expect(before.map((notice) => notice.params.progress)).toEqual(Array.from({ length: 50 }, (_, step) => step + 1))
    expect(before.every((notice) => notice.params.progressToken === 7)).toBe(true)
    expect(textOf(message.result)).toBe('done')
  })
})

const hangingCalls = ({ requests }: Json): number =>
  requests.filter(({ message }: Json) => message?.method === 'tools/call' && message.params.name === 'hang').length

describe(`${promise('GW-8')} a call that its client cancels`, () => {
  it.each(['legacy', 'modern'] as const)('is cancelled at a server of the %s era', async (era) => {
    const upstream = era === 'legacy' ? legacy : modern
    const before = await upstream.seen()
    const client = await LegacyClient.open(bench.gateway.mcp)
    const asked = client.request('tools/call', { name: `${era}_hang` }, 'mine')
    // An earlier call that was given up may still be on its way out: what counts is that ours came and went.
    await eventually(
      () => upstream.seen(),
      (seen) => hangingCalls(seen) === hangingCalls(before) + 1,
    )
    await client.notify('notifications/cancelled', { requestId: 'mine' })
    expect((await asked).message.error.data.code).toBe('CALL_CANCELLED')
    const after = await eventually(
      () => upstream.seen(),
      (seen) => seen.hanging <= before.hanging,
    )
    const cancellations = after.requests.filter(({ message }: Json) => message?.method === 'notifications/cancelled')
    // In the modern era the closed stream is the cancellation.
    if (era === 'modern') expect(cancellations).toEqual([])
    else
      await eventually(
        () => upstream.seen(),
        (seen) => seen.requests.some(({ message }: Json) => message?.method === 'notifications/cancelled'),
      )
  })
})

describe(`${promise('GW-4')} a server over HTTP that goes away`, () => {
  it('is detected without a call, its calls fail with its name, and it is used again when it is back', async () => {
    await bench.besiege(async () => {
      await leaving.stop()
      await bench.until('leaving', 'restarting')
      expect(errorCode(await call('leaving_echo'))).toBe('UPSTREAM_RESTARTING')
      leaving = await startHttp('--era', 'legacy', '--port', String(leaving.port))
      for (const code of await refusalsUntilBack('leaving_echo')) expect(code).toBe('UPSTREAM_RESTARTING')
    })
  })

  it('fails each of its calls in flight once', async () => {
    const codes = await bench.besiege(async () => {
      const waiting = Array.from({ length: 10 }, () => call('failing_hang'))
      await eventually(
        () => failing.seen(),
        (seen) => seen.hanging === 10,
      )
      await failing.stop()
      const results = await Promise.all(waiting)
      failing = await startHttp('--era', 'legacy', '--port', String(failing.port))
      await refusalsUntilBack('failing_echo')
      return results.map(errorCode)
    })
    expect(new Set(codes)).toEqual(new Set(['UPSTREAM_DIED']))
  })

  it('or forgets our session gets a new one', async () => {
    const codes = await bench.besiege(async () => {
      await forgetful.forget()
      return refusalsUntilBack('forgetful_echo')
    })
    expect(codes, 'the call is sent again').toEqual([])
    expect(
      (await forgetful.seen()).requests.filter(({ message }: Json) => message?.method === 'initialize').length,
    ).toBe(2)
  })

  it('and comes back with authentication is reported as needing a login', async () => {
    await locked.stop()
    await bench.until('locked', 'restarting')
    locked = await startHttp('--era', 'legacy', '--port', String(locked.port), '--token', 'unknown')
    await bench.until('locked', 'needs-login')
    const refused = await bench.besiege(() => call('locked_echo'))
    expect(errorCode(refused)).toBe('UPSTREAM_NEEDS_LOGIN')
    expect(refused._meta['sallyport/error'].retryable).toBe(false)
  })
})

describe(`${promise('GW-9')} a server over HTTP that redirects`, () => {
  /** It is tried again from time to time. */
  const untilDown = (id: string): Promise<Json> =>
    eventually(
      () => bench.server(id),
      ({ state }) => state === 'restarting' || state === 'broken',
    )

  it('is followed within its origin', async () => {
    expect(textOf(await call('moved_echo', { text: 'here' }))).toBe('here')
  })

  it('is not followed to another origin, and its address is not shown', async () => {
    const { reason } = await untilDown('away')
    expect(reason).toContain('127.0.0.2')
    expect(reason).not.toMatch(/user|pass|hidden/)
  })

  it('to a closed port is reported, and affects no other server', async () => {
    const { reason } = await bench.besiege(() => untilDown('nobody'))
    expect(reason).toContain('ECONNREFUSED')
  })
})

describe(`${promise('GW-3')} a server over HTTP that wants a login`, () => {
  it('has answered: lists no longer wait for it, and the log says what it needs', async () => {
    const shut = await startHttp('--token', 'nobody-has-it')
    const config = { mcp_servers: { shut: { url: shut.url() } }, gateway: { startup_wait: '10m' } }
    const gateway = await runGateway({ config })
    try {
      const { message } = await modernRequest(gateway.mcp, 'tools/list')
      const names = message.result.tools.map(({ name }: Json) => name)
      expect(names).toContain('sallyport_read_file')
      expect(names.filter((name: string) => name.startsWith('shut_'))).toEqual([])
      expect(gateway.records()).toContainEqual(
        expect.objectContaining({
          type: 'UPSTREAM_NEEDS_LOGIN',
          server: 'shut',
          reason: expect.stringMatching(/log ?in|401/i),
        }),
      )
    } finally {
      await gateway.stop()
      await shut.stop()
    }
  })
})
