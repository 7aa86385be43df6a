import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { type Json, processBehind, stdioEntry, textOf } from '../faults/fault-bench.ts'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { endProcess, makePlace, type Place, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow, type StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const places = new Set<Place>()
const windows = new Set<StdioClient>()
const gateways = new Set<RunningGateway>()

afterEach(async () => {
  await Promise.all([...windows].map((window) => window.kill()))
  await Promise.all([...gateways].map(({ child }) => endProcess(child)))
  await Promise.all([...places].map(nothingLeft)).finally(killAll)
  for (const place of places) place.remove()
  for (const all of [places, windows, gateways]) all.clear()
})

/** A failed test must not leave processes to the next one. */
function killAll(): void {
  for (const pid of [...places].flatMap(processesOf)) process.kill(pid, 'SIGKILL')
}

function newPlace(config: object): Place {
  const place = makePlace({ gateway: { linger: '200ms' }, ...config })
  places.add(place)
  return place
}

async function newWindow(place: Pick<Place, 'home' | 'state'>): Promise<StdioClient> {
  const window = openWindow(place)
  windows.add(window)
  await window.initialize()
  return window
}

async function newGateway(config: object): Promise<RunningGateway> {
  const gateway = await runGateway({ place: newPlace(config) })
  gateways.add(gateway)
  return gateway
}

/** Gateways and windows have the state in their command line; servers and the watchdog a mark that is made from it. */
function processesOf({ state }: Pick<Place, 'state'>): readonly number[] {
  const mark = createHash('sha256').update(state).digest('hex').slice(0, 16)
  return [...new Set([...processesWith(mark), ...processesWith(state)])]
}

const nothingLeft = (place: Pick<Place, 'state'>): Promise<unknown> =>
  eventually(
    () => processesOf(place),
    (pids) => pids.length === 0,
  )

/** The gateway that windows share, which none of them is the parent of. */
const backgroundOf = (place: Pick<Place, 'state'>): number | undefined =>
  processesOf(place).find((pid) => commandLine(pid).includes('--background'))

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** A server that leaves a child in its group and a daemon outside of it, and a text that only those three carry. */
function clingingServer(...more: readonly string[]) {
  const marker = randomUUID()
  const entry = stdioEntry(['grandchildren', 'daemon', ...more], { env: { MARKER: marker } })
  const config = { mcp_servers: { clinging: entry } }
  /** The server, a grandchild, and a daemon of a shell and two sleepers; the shell may have become one of them. */
  const allUp = (): Promise<unknown> =>
    eventually(
      () => processesWith(marker),
      (pids) => pids.length >= 4,
    )
  return { marker, config, allUp }
}

describe(`${promise('GW-6')} no process is left`, () => {
  it('after an orderly stop, though a server ignores it and has daemons', async () => {
    const { config, allUp } = clingingServer('ignore-term')
    const gateway = await newGateway(config)
    await allUp()
    await endProcess(gateway.child)
    expect(gateway.child.exitCode).toBe(0)
    expect(processesOf(gateway)).toEqual([])
  })

  it('after kill -9 of the gateway', async () => {
    const { config, allUp } = clingingServer()
    const gateway = await newGateway(config)
    await allUp()
    gateway.child.kill('SIGKILL')
    await nothingLeft(gateway)
  })

  it('after kill -9 of the gateway and its watchdog at once, as soon as the next one starts', async () => {
    const { marker, config, allUp } = clingingServer()
    const gateway = await newGateway(config)
    await allUp()
    const before = processesWith(marker)
    const watchdog = processesOf(gateway).find((pid) => commandLine(pid).includes('sallyport-watchdog')) as number
    process.kill(watchdog, 'SIGKILL')
    process.kill(gateway.child.pid as number, 'SIGKILL')
    const next = await runGateway({ place: gateway })
    gateways.add(next)
    await eventually(
      () => processesWith(marker).filter((pid) => before.includes(pid)),
      (pids) => pids.length === 0,
    )
  })

  it('of the old gateway after kill -9 of the one that windows share, and the window goes on with a new one', async () => {
    const { marker, config, allUp } = clingingServer()
    const place = newPlace(config)
    const window = await newWindow(place)
    await allUp()
    const old = processesWith(marker)
    const killed = backgroundOf(place) as number
    process.kill(killed, 'SIGKILL')
    await eventually(
      () => processesWith(marker).filter((pid) => old.includes(pid)),
      (pids) => pids.length === 0,
    )
    expect(JSON.stringify(await window.request('ping'))).toContain('result')
    expect(backgroundOf(place)).not.toBe(killed)
    expect(textOf(await window.call('clinging_echo', { still: 'here' }))).toBe('{"still":"here"}')
    await window.leave()
    await nothingLeft(place)
  })

  it('after kill -9 of the last window', async () => {
    const { config, allUp } = clingingServer()
    const place = newPlace(config)
    const [window, other] = await Promise.all([newWindow(place), newWindow(place)])
    await allUp()
    await window.kill()
    expect(textOf(await other.call('clinging_echo', { still: 'here' }))).toBe('{"still":"here"}')
    await other.kill()
    await nothingLeft(place)
  })

  it('of a server after kill -9 of it, its daemons included, but for those of the next', async () => {
    const { marker, config, allUp } = clingingServer()
    const gateway = await newGateway(config)
    const window = await newWindow(gateway)
    await allUp()
    const old = processesWith(marker)
    const { pid } = await processBehind(window, 'clinging')
    process.kill(pid, 'SIGKILL')
    await eventually(
      () => processesWith(marker).filter((each) => old.includes(each)),
      (pids) => pids.length === 0,
    )
    await allUp()
    expect(processesWith(marker).length).toBeLessThanOrEqual(old.length)
  })
})

describe('a gateway that stops', () => {
  it('answers every call in flight, over every transport', async () => {
    const gateway = await newGateway({ mcp_servers: { good: stdioEntry() } })
    const window = await newWindow(gateway)
    await processBehind(window, 'good')
    const legacy = await LegacyClient.open(gateway.mcp)
    const answers = [
      window.call('good_hang'),
      legacy.request('tools/call', { name: 'good_hang' }).then(({ message }) => message),
      modernRequest(gateway.mcp, 'tools/call', { name: 'good_hang' }).then(({ message }) => message),
    ]
    await eventually(
      () => apiOf(gateway, '/status'),
      ({ callsInFlight }) => callsInFlight === answers.length,
    )
    const stopped = endProcess(gateway.child)
    for (const answer of await Promise.all(answers))
      expect(JSON.stringify(answer)).toMatch(/UPSTREAM_DIED|CALL_CANCELLED|GATEWAY_UNREACHABLE/)
    await stopped
    const types = gateway.records().map(({ type }) => type)
    expect(types.filter((type) => type === 'TOOL_CALL_FAILED')).toHaveLength(answers.length)
    // A window whose gateway has ended may start the next one.
    expect(types.indexOf('GATEWAY_STOPPED')).toBeGreaterThan(types.lastIndexOf('TOOL_CALL_FAILED'))
  })
})

describe(`${promise('GW-6')} descriptors and sessions return to where they were`, () => {
  const CYCLES = 200

  it(`after ${CYCLES} windows and ${CYCLES} sessions over HTTP came, called and went`, async () => {
    const gateway = await newGateway({ mcp_servers: { good: stdioEntry() } })
    const pid = gateway.child.pid as number
    const status = async () => (await apiOf(gateway, '/status')) as { sessions: number; callsInFlight: number }
    await eventually(
      () => apiOf(gateway, '/servers/good'),
      ({ state }) => state === 'ready',
    )
    const visits = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 10)
        await Promise.all(Array.from({ length: 10 }, () => Promise.all([visitLines(gateway), visitHttp(gateway)])))
    }
    await visits(10)
    const before = await settledDescriptors(pid)
    await visits(CYCLES)
    await eventually(
      () => descriptors(pid),
      (now) => now <= before,
    )
    expect(await status()).toMatchObject({ sessions: 0, callsInFlight: 0 })
  })

  it('after 20 starts and stops of servers', async () => {
    const ids = ['one', 'two', 'three', 'four']
    const servers = Object.fromEntries(ids.map((id) => [id, stdioEntry([], { idle: '100ms' })]))
    const gateway = await newGateway({ mcp_servers: servers })
    const window = await newWindow(gateway)
    const pid = gateway.child.pid as number
    const round = async (): Promise<void> => {
      await Promise.all(ids.map((id) => processBehind(window, id)))
      await eventually(
        () => apiOf(gateway, '/servers'),
        ({ servers: all }) => ids.every((id) => all.find((one: { id: string }) => one.id === id).state === 'stopped'),
      )
    }
    await round()
    const before = await settledDescriptors(pid)
    for (let rounds = 0; rounds < 5; rounds++) await round()
    await eventually(
      () => descriptors(pid),
      (now) => now <= before,
    )
    await eventually(
      () => processesOf(gateway).filter((each) => commandLine(each).includes('hostile-server')),
      (pids) => pids.length === 0,
    )
  })
})

async function apiOf(gateway: RunningGateway, path: string): Promise<Json> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}`, connection: 'close' }
  return (await (await fetch(`${gateway.url}/api${path}`, { headers })).json()) as Json
}

/** The number once it has been the same for a while: what was opened for the last visitors closes a little later. */
async function settledDescriptors(pid: number): Promise<number> {
  let last = -1
  let same = 0
  return eventually(
    () => {
      const now = descriptors(pid)
      same = now === last ? same + 1 : 0
      last = now
      return now
    },
    () => same >= 10,
  )
}

/** What a window does, without a process for each: it joins the gateway's own socket, calls, and leaves. */
function visitLines({ home, state }: Pick<Place, 'home' | 'state'>): Promise<void> {
  const headers = {
    connection: 'upgrade',
    upgrade: 'sallyport-lines',
    'x-sallyport-home': encodeURIComponent(home),
  }
  return new Promise((resolve, reject) => {
    const joining = request({ socketPath: `${state}/gateway.sock`, path: '/', headers })
    joining.once('error', reject)
    joining.once('upgrade', (_response, socket) => {
      socket.once('close', () => resolve())
      socket.once('data', (answer: Buffer) => {
        if (!answer.includes('{\\"n\\":1}')) reject(new Error(`a window got ${answer}`))
        socket.destroy()
      })
      const params = { name: 'good_echo', arguments: { n: 1 } }
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`)
    })
    joining.end()
  })
}

/** A legacy session over connections of its own, from its first word to its end. */
async function visitHttp({ mcp }: RunningGateway): Promise<void> {
  const say = (body: object | undefined, session: Record<string, string>): Promise<Response> =>
    fetch(mcp, {
      method: body ? 'POST' : 'DELETE',
      headers: { 'content-type': 'application/json', connection: 'close', ...session },
      ...(body && { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }) }),
    })
  const clientInfo = { name: 'visitor', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const opened = await say({ method: 'initialize', params }, {})
  await opened.text()
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
  const call = { name: 'good_echo', arguments: { n: 2 } }
  expect(await (await say({ method: 'tools/call', params: call }, session)).text()).toContain('{\\"n\\":2}')
  expect((await say(undefined, session)).status).toBe(204)
}
