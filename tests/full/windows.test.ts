import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { errorOf, runCommand } from '../harness/run-command.ts'
import { endProcess, makePlace, type Place, REPOSITORY, readRecords, runGateway } from '../harness/run-gateway.ts'
import { isToolChange, openWindow, type StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const HOSTILE = join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')
const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** A home with two servers, whose processes carry the state's path so that they can be counted. */
function place(gateway: object = {}): Place {
  const made = makePlace()
  const server = { command: 'node', args: [HOSTILE, `for=${made.state}`] }
  made.writeConfig({
    gateway: { linger: '100ms', ...gateway },
    mcp_servers: { one: server, two: server },
  })
  undo.push(async () => {
    // A gateway that ends may still write into its home.
    await untilNothingRuns(made)
    made.remove()
  })
  return made
}

function window(at: Pick<Place, 'home' | 'state'>): StdioClient {
  const client = openWindow(at)
  undo.push(() => client.kill())
  return client
}

/** Windows that are open, initialized and have seen the list. */
async function windows(at: Place, count: number): Promise<readonly StdioClient[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const client = window(at)
      await client.initialize()
      expect(await client.toolNames()).toEqual(expect.arrayContaining(['one_echo', 'two_echo']))
      return client
    }),
  )
}

const commandLine = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

const backgroundPids = ({ state }: Place): readonly number[] =>
  processesWith(state).filter((pid) => commandLine(pid).includes('--background'))
const serverPids = ({ state }: Place): readonly number[] =>
  processesWith(state).filter((pid) => commandLine(pid).includes(`for=${state}`))

const untilNothingRuns = (at: Place): Promise<unknown> =>
  eventually(
    () => processesWith(at.state).map(commandLine),
    (lines) => lines.length === 0,
  )

async function killGateway(at: Place): Promise<number> {
  const [pid = 0] = await eventually(
    () => backgroundPids(at),
    (pids) => pids.length === 1,
  )
  process.kill(pid, 'SIGKILL')
  return pid
}

describe(`${promise('GW-27')} several windows`, () => {
  it('that start at the same instant share one gateway and one process for each server', async () => {
    const at = place()
    const all = await windows(at, 10)
    await eventually(
      () => backgroundPids(at),
      (pids) => pids.length === 1,
    )
    expect(serverPids(at)).toHaveLength(2)
    const started = readRecords(at.state).filter(({ type }) => type === 'GATEWAY_STARTED')
    expect(started).toHaveLength(1)
    const results = await Promise.all(all.map((client) => client.call('one_pid')))
    expect(new Set(results.map(({ content }) => JSON.parse(content[0].text).pid)).size).toBe(1)
    for (const client of all) expect(await client.leave()).toBe(0)
    await untilNothingRuns(at)
    expect(readRecords(at.state).at(-1)).toMatchObject({ type: 'GATEWAY_STOPPED', reason: 'the last window left' })
  })

  it('keep the gateway up as long as one of them is open', async () => {
    const at = place()
    const [first, second] = (await windows(at, 2)) as [StdioClient, StdioClient]
    // Of two that start at once, one leaves again.
    const [pid] = await eventually(
      () => backgroundPids(at),
      (pids) => pids.length === 1,
    )
    await first.leave()
    const third = window(at)
    await third.initialize()
    await second.leave()
    expect(await third.call('one_echo', { still: 'here' })).toMatchObject({ content: [{ text: '{"still":"here"}' }] })
    expect(backgroundPids(at)).toEqual([pid])
    await third.leave()
    await untilNothingRuns(at)
  })

  it('that come right after the last one left are served, by the old gateway or a new one', async () => {
    const at = place({ linger: '1ms' })
    for (let round = 0; round < 5; round++) {
      const client = window(at)
      await client.initialize()
      expect(await client.call('one_echo', { round })).toMatchObject({ content: [{ text: `{"round":${round}}` }] })
      expect(await client.leave()).toBe(0)
    }
    await untilNothingRuns(at)
  })

  it('get their answers when they send all at once and close their end', async () => {
    const at = place()
    const client = window(at)
    const greeted = client.initialize()
    const slept = client.call('one_sleep', { ms: 300 })
    const closed = client.leave()
    expect(await greeted).toHaveProperty('result')
    expect(await slept).toMatchObject({ content: [{ text: 'done' }] })
    expect(await closed).toBe(0)
    await untilNothingRuns(at)
  })

  it('continue without a new initialize after kill -9 of the gateway; what was in flight gets an error', async () => {
    const at = place()
    const both = await windows(at, 2)
    const hanging = both.map((client) => client.call('one_hang'))
    await eventually(
      () => readRecords(at.state).filter(({ type }) => type === 'TOOL_CALL_STARTED').length,
      (count) => count === 2,
    )
    const changes = both.map((client) => client.next(isToolChange))
    const killed = await killGateway(at)
    for (const answer of await Promise.all(hanging))
      expect(answer).toMatchObject({
        error: {
          message: expect.stringMatching(/GATEWAY_UNREACHABLE.*check what it did before you repeat it/),
          data: { code: 'GATEWAY_UNREACHABLE', retryable: false },
        },
      })
    await Promise.all(changes)
    const after = await Promise.all(both.map((client, index) => client.call('two_echo', { index })))
    expect(after).toMatchObject([{ content: [{ text: '{"index":0}' }] }, { content: [{ text: '{"index":1}' }] }])
    await eventually(
      () => [backgroundPids(at).length, backgroundPids(at)[0] === killed, serverPids(at).length],
      ([gateways, same, servers]) => gateways === 1 && same === false && servers === 2,
    )
    for (const client of both) expect(await client.leave()).toBe(0)
    await untilNothingRuns(at)
  })

  it('lose nothing that was sent while there was no gateway', async () => {
    const at = place()
    const [client] = (await windows(at, 1)) as [StdioClient]
    await killGateway(at)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        client.request('tools/call', { name: 'one_echo', arguments: { index } }),
      ),
    )
    for (const [index, { result, error }] of answers.entries()) {
      if (error) expect(error.message).toContain('GATEWAY_UNREACHABLE')
      else expect(result.content[0].text).toBe(`{"index":${index}}`)
    }
    const ids = client.received.filter(({ id }) => id !== undefined).map(({ id }) => id)
    expect(new Set(ids).size, 'each request has one answer').toBe(ids.length)
  })

  it('survive one death of the gateway after another', async () => {
    const at = place()
    const [client] = (await windows(at, 1)) as [StdioClient]
    for (let round = 0; round < 3; round++) {
      await killGateway(at)
      // What is sent before the death is noticed is lost with that gateway, and reported; nothing else may be lost.
      const answer = await eventually(
        () => client.call('one_echo', { round }),
        ({ error }) => !error?.message.includes('GATEWAY_UNREACHABLE'),
      )
      expect(answer).toMatchObject({ content: [{ text: `{"round":${round}}` }] })
    }
    await client.leave()
    await untilNothingRuns(at)
  })

  it('end at once on a signal, whatever is in flight', async () => {
    const at = place()
    const [client] = (await windows(at, 1)) as [StdioClient]
    client.call('one_hang').catch(() => {})
    const gone = once(client.child, 'close')
    client.child.kill('SIGTERM')
    const [code, signal] = await gone
    expect([code, signal]).toEqual([0, null])
    await untilNothingRuns(at)
  })

  it('that are killed with -9 leave nothing', async () => {
    const at = place()
    const all = await windows(at, 3)
    for (const client of all) client.call('one_hang').catch(() => {})
    await Promise.all(all.map((client) => client.kill()))
    await untilNothingRuns(at)
  })

  it('that are killed with -9 while the gateway starts leave nothing either', async () => {
    const at = place()
    const client = window(at)
    client.initialize().catch(() => {})
    await eventually(
      () => backgroundPids(at),
      (pids) => pids.length > 0,
    )
    await client.kill()
    await untilNothingRuns(at)
  })
})

describe(`${promise('GW-27')} windows and ports`, () => {
  it('share a gateway: serve joins the one that runs, and gives its port back when it ends', async () => {
    const at = place()
    const [client] = (await windows(at, 1)) as [StdioClient]
    const joined = await runGateway({ place: { ...at, remove: () => {} } })
    undo.push(() => joined.stop())
    const { message } = await modernRequest(joined.mcp, 'tools/call', { name: 'one_pid', arguments: {} })
    const there = await client.call('one_pid')
    expect(JSON.parse(message.result.content[0].text).pid).toBe(JSON.parse(there.content[0].text).pid)
    expect(backgroundPids(at)).toHaveLength(1)
    await endProcess(joined.child)
    expect(joined.child.exitCode).toBe(0)
    await eventually(
      () =>
        fetch(joined.url).then(
          () => 'open',
          () => 'closed',
        ),
      (state) => state === 'closed',
    )
    expect(await client.call('one_echo')).toMatchObject({ content: [{ text: '{}' }] })
    await client.leave()
    await untilNothingRuns(at)
  })

  it('keep the gateway up for a port alone, also when the serve that had it is killed', async () => {
    const at = place()
    const [client] = (await windows(at, 1)) as [StdioClient]
    const joined = await runGateway({ place: { ...at, remove: () => {} } })
    await client.leave()
    const { message } = await modernRequest(joined.mcp, 'tools/call', { name: 'one_echo', arguments: {} })
    expect(message.result.content[0].text).toBe('{}')
    joined.child.kill('SIGKILL')
    await untilNothingRuns(at)
  })

  it('share a gateway: serve --stdio joins a running serve, and its end is not the end of that one', async () => {
    const at = place()
    const port = await runGateway({ place: { ...at, remove: () => {} } })
    undo.push(() => port.stop())
    const [client] = (await windows(at, 1)) as [StdioClient]
    expect(backgroundPids(at)).toEqual([])
    expect(serverPids(at)).toHaveLength(2)
    await client.leave()
    const { message } = await modernRequest(port.mcp, 'tools/call', { name: 'two_echo', arguments: {} })
    expect(message.result.content[0].text).toBe('{}')
  })

  it('listen where the home says by default', async () => {
    const at = place({ port: 0 })
    await windows(at, 1)
    const joined = await runGateway({ place: { ...at, remove: () => {} }, port: 'of the home' })
    undo.push(() => joined.stop())
    expect(joined.mcp).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
    expect(joined.mcp).not.toContain(':4747/')
  })

  it('that all start at the same instant find one another, whoever is first', async () => {
    const at = place()
    const staying = { ...at, remove: () => {} }
    const [one, other, [client]] = await Promise.all([
      runGateway({ place: staying }),
      runGateway({ place: staying }),
      windows(at, 1),
    ])
    const pids = await Promise.all(
      [one.mcp, other.mcp].map(async (mcp) => {
        const { message } = await modernRequest(mcp, 'tools/call', { name: 'one_pid', arguments: {} })
        return JSON.parse(message.result.content[0].text).pid
      }),
    )
    const { content } = (await client?.call('one_pid')) ?? {}
    expect([...pids, JSON.parse(content[0].text).pid]).toEqual([pids[0], pids[0], pids[0]])
    expect(serverPids(at)).toHaveLength(2)
    await Promise.all([client?.leave(), endProcess(one.child), endProcess(other.child)])
    await untilNothingRuns(at)
  })

  it('share one gateway on a state with a long path, wherever each keeps its temporary files', async () => {
    const made = place()
    const at = { ...made, state: join(made.state, 'x'.repeat(150)) }
    const temporary = ['a', 'b', 'y'.repeat(120)].map((name) => join(made.home, name))
    for (const folder of temporary) mkdirSync(folder)
    const clients = temporary.map((TMPDIR) => {
      const client = openWindow(at, { env: { TMPDIR } })
      undo.push(() => client.kill())
      return client
    })
    for (const client of clients) {
      await client.initialize()
      expect(await client.call('one_echo')).toMatchObject({ content: [{ text: '{}' }] })
    }
    expect(backgroundPids(at)).toHaveLength(1)
    const flags = ['--json', '--home', at.home, '--state', at.state]
    const asked = await runCommand(['servers', ...flags], { env: { TMPDIR: made.home } })
    expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('one') })
    expect(backgroundPids(at)).toHaveLength(1)
    for (const folder of temporary) expect(readdirSync(folder)).toEqual([])
    await Promise.all(clients.map((client) => client.leave()))
    await untilNothingRuns(at)
    expect(readdirSync(at.state)).not.toContain('gateway.sock')
  })

  it('cannot be brought down over the socket by invalid input', async () => {
    const at = place()
    const [client] = (await windows(at, 1)) as [StdioClient]
    const socketPath = join(at.state, 'gateway.sock')
    const nonsense: Record<string, string>[] = [
      { upgrade: 'sallyport-port', connection: 'upgrade' },
      { upgrade: 'sallyport-port', connection: 'upgrade', 'x-sallyport-port': '%zz' },
      { upgrade: 'sallyport-port', connection: 'upgrade', 'x-sallyport-port': '7' },
      { upgrade: 'sallyport-lines', connection: 'upgrade', 'x-sallyport-home': '%' },
      { upgrade: 'websocket', connection: 'upgrade' },
      { 'x-sallyport-home': '%E0%A4%A' },
    ]
    for (const headers of nonsense) {
      const asked = request({ socketPath, path: '/', headers }).end()
      // It may be answered, joined or disconnected: the window must still work afterwards.
      await new Promise<unknown>((resolve) => {
        asked.on('response', (response) => resolve(response.resume()))
        asked.on('upgrade', (_response, socket) => resolve(socket.destroy()))
        asked.on('error', resolve)
      })
    }
    expect(await client.call('one_echo')).toMatchObject({ content: [{ text: '{}' }] })
  })

  it('of another home on the same state are refused with both names', async () => {
    const at = place()
    await windows(at, 1)
    const other = mkdtempSync(join(tmpdir(), 'sallyport-other-'))
    undo.push(() => rmSync(other, { recursive: true, force: true }))
    for (const flags of [['--stdio'], ['--port', '0']]) {
      const outcome = await runCommand(['serve', ...flags, '--json', '--home', other, '--state', at.state])
      expect(outcome.code, flags.join()).toBe(1)
      expect(errorOf(outcome)).toMatchObject({
        code: 'STATE_HELD',
        message: expect.stringContaining(at.home),
        hint: expect.stringContaining('--state'),
      })
      expect(errorOf(outcome).message).toContain(other)
    }
  })
})
