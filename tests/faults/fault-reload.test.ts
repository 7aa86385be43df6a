import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { endProcess, makePlace } from '../harness/run-gateway.ts'
import { isToolChange } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import {
  errorCode,
  type FaultBench,
  type Json,
  openFaultBench,
  processBehind,
  stdioEntry,
  textOf,
} from './fault-bench.ts'

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const gone = (pid: number): Promise<boolean> =>
  eventually(
    () => isAlive(pid),
    (alive) => !alive,
  )

describe(`${promise('GW-12')} a changed configuration`, () => {
  let bench: FaultBench
  const steady = stdioEntry()
  const good = stdioEntry()

  beforeAll(async () => {
    bench = await openFaultBench({ steady, changing: stdioEntry(), leaving: stdioEntry(['grandchildren']) })
    await Promise.all(['steady', 'changing', 'leaving'].map((id) => bench.until(id, 'ready')))
  })

  afterAll(() => bench.close())
  afterEach(() => bench.expectUnharmed())

  const records = (type: string): readonly Json[] => bench.gateway.records().filter((record) => record.type === type)
  const pidOf = async (id: string): Promise<number> => (await processBehind(bench.window, id)).pid

  it('restarts only what changed, keeps calls of other servers in flight, and notifies the windows', async () => {
    const [steadyPid, changingPid, leavingPid] = await Promise.all(['steady', 'changing', 'leaving'].map(pidOf))
    const notified = bench.window.next(isToolChange)
    const { under, hit } = await bench.besiege(async () => {
      const under = bench.window.call('steady_sleep', { ms: 1_500 })
      const hit = bench.window.call('changing_hang')
      bench.gateway.writeConfig({
        mcp_servers: { good, steady, changing: stdioEntry(['tools=3']), coming: stdioEntry(['tools=1']) },
      })
      await notified
      return { under: await under, hit: await hit }
    })
    expect(textOf(under)).toBe('done')
    expect(errorCode(hit)).toBe('UPSTREAM_DIED')
    expect(records('CONFIG_RELOADED')).toMatchObject([
      { restarted: ['changing'], added: ['coming'], removed: ['leaving'] },
    ])
    await eventually(
      () => bench.window.toolNames(),
      (names) =>
        names.includes('coming_tool_0') && names.includes('changing_tool_2') && !names.includes('leaving_echo'),
    )
    expect(await pidOf('steady')).toBe(steadyPid)
    expect(await pidOf('changing')).not.toBe(changingPid)
    await gone(leavingPid as number)
  })

  it('that is invalid leaves the last valid one in force, and reports why', async () => {
    const pids = await Promise.all(['steady', 'changing', 'coming'].map(pidOf))
    await bench.besiege(async () => {
      bench.gateway.writeConfig('mcp_servers: { steady: { command: [')
      await eventually(
        () => records('CONFIG_REJECTED'),
        (rejected) => rejected.length === 1,
      )
    })
    expect(records('CONFIG_REJECTED')[0]?.message).toMatch(/config\.yaml/)
    expect(bench.gateway.stderr()).toContain('The changed configuration is not used')
    expect(await Promise.all(['steady', 'changing', 'coming'].map(pidOf))).toEqual(pids)
  })

  it('can be corrected, and a flood of announced changes is passed on a few times', async () => {
    const received = bench.window.received.filter(isToolChange).length
    const seen = async (): Promise<number> => JSON.parse(textOf(await bench.window.call('steady_seen'))).listed
    const listed = await seen()
    const announced = bench.window.next(isToolChange)
    await bench.besiege(() => bench.window.call('steady_list_changed', { count: 50_000 }))
    await Promise.all([announced, eventually(seen, (now) => now > listed)])
    bench.gateway.writeConfig({ mcp_servers: { good, steady, changing: stdioEntry(['tools=3']) } })
    await eventually(
      () => bench.window.toolNames(),
      (names) => !names.includes('coming_echo'),
    )
    expect(bench.window.received.filter(isToolChange).length).toBeLessThan(received + 20)
    expect(await seen()).toBeLessThan(listed + 20)
  })
})

describe(`${promise('GW-5')} processes and who shares them`, () => {
  let bench: FaultBench

  beforeAll(async () => {
    bench = await openFaultBench(
      { shared: stdioEntry(), own: stdioEntry([], { per: 'session' }), resting: stdioEntry([], { idle: '200ms' }) },
      { args: [] },
    )
    await Promise.all(['shared', 'own'].map((id) => bench.until(id, 'ready')))
  })

  afterAll(() => bench.close())
  afterEach(() => bench.expectUnharmed())

  async function clientOf(agent: string): Promise<LegacyClient> {
    const { token } = await bench.api('/tokens', { agent })
    return LegacyClient.open(bench.gateway.mcp, { authorization: `Bearer ${token}` })
  }

  it('gives each session its own process if the entry says so, and all sessions one otherwise', async () => {
    const [first, second] = await Promise.all([clientOf('first'), clientOf('second')])
    const pids = async (server: string): Promise<readonly number[]> => {
      const seen = await Promise.all([first, second, first, second].map((client) => processBehind(client, server)))
      return seen.map(({ pid }) => pid)
    }
    expect(new Set(await pids('shared')).size).toBe(1)
    const [a, b, aAgain, bAgain] = await pids('own')
    expect(new Set([a, b]).size).toBe(2)
    expect([aAgain, bAgain]).toEqual([a, b])
  })

  it('lets one session’s process die alone', async () => {
    const [first, second] = await Promise.all([clientOf('dying'), clientOf('living')])
    const before = await processBehind(second, 'own')
    expect(errorCode(await first.call('own_kill_self'))).toBe('UPSTREAM_DIED')
    expect((await processBehind(second, 'own')).pid).toBe(before.pid)
  })

  it('stops a process that nobody calls, and starts it again with the next call', async () => {
    const { pid } = await processBehind(bench.window, 'resting')
    await bench.until('resting', 'stopped')
    await gone(pid)
    const back = await Promise.all(Array.from({ length: 5 }, () => processBehind(bench.window, 'resting')))
    expect(new Set(back.map((seen) => seen.pid)).size).toBe(1)
    expect(back[0]?.pid).not.toBe(pid)
  })

  it('does not count an idle stop as a death', async () => {
    // In the middle of a call: between two calls it may be stopped at any moment.
    expect(errorCode(await bench.window.call('resting_kill_self'))).toBe('UPSTREAM_DIED')
    await eventually(
      () => bench.server('resting'),
      ({ restarts }) => restarts === 1,
    )
    await bench.until('resting', 'stopped')
    await processBehind(bench.window, 'resting')
    expect((await bench.server('resting')).restarts).toBe(1)
  })

  it('does not stop one in the middle of a call', async () => {
    expect(textOf(await bench.window.call('resting_sleep', { ms: 700 }))).toBe('done')
  })
})

describe(`${promise('GW-3')} a server that is slow to start`, () => {
  const settings = { gateway: { startup_wait: '200ms' } }

  it('does not delay lists, is announced when it is ready, and is known at once the next time', async () => {
    const place = makePlace()
    const gate = join(place.home, 'gate')
    const servers = { slow: stdioEntry([`start-after=${gate}`, 'tools=1']) }
    place.writeConfig({ mcp_servers: { good: stdioEntry(), ...servers }, ...settings })
    const first = await openFaultBench(servers, { place, settings })
    try {
      const notified = first.window.next(isToolChange)
      expect(await first.window.toolNames()).not.toContain('slow_tool_0')
      writeFileSync(gate, '')
      await notified
      await eventually(
        () => first.window.toolNames(),
        (names) => names.includes('slow_tool_0'),
      )
      await first.expectUnharmed()
    } finally {
      await first.window.leave()
      await endProcess(first.gateway.child)
    }
    rmSync(gate)
    const second = await openFaultBench(servers, { place, settings })
    try {
      expect(await second.window.toolNames()).toContain('slow_tool_0')
      expect((await second.server('slow')).state).toBe('starting')
      const waiting = second.besiege(() => second.window.call('slow_tool_0'))
      writeFileSync(gate, '')
      expect(textOf(await waiting)).toBe('tool-0')
      await second.expectUnharmed()
    } finally {
      await second.close()
    }
  })
})
