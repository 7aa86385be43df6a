import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { countMarked, HOSTILE_SERVER } from '../stdio/stdio.test-kit.ts'
import { createMark } from './process-mark.ts'
import { sweepProcesses } from './process-sweep.ts'
import { readProcessTable } from './process-table.ts'

/** The built modules: the process under test runs as in production. */
const BUILT = new URL('../../../dist/upstream/', import.meta.url).href

/** A minimal gateway to kill: a watchdog, and servers that leave all kinds of processes behind. */
const GATEWAY = `
import { GATEWAY_PERMIT } from '${BUILT}permit.js'
import { openWatchdog } from '${BUILT}processes/watchdog.js'
import { StderrTail } from '${BUILT}stderr-tail.js'
import { StdioTransport } from '${BUILT}stdio/stdio-transport.js'

const [runMark, ...args] = process.argv.slice(2)
const watchdog = openWatchdog({ runMark, environment: process.env, onWarning: () => console.log(watchdog.pid) })
console.log(watchdog.pid)
const config = { id: 'x', kind: 'stdio', command: process.execPath, args, env: {}, fromVariables: [], maxMessageBytes: 1e6 }
const PING = { method: 'ping', params: {}, permit: GATEWAY_PERMIT }
const answered = [1, 2].map(async (number) => {
  const mark = runMark + '.x.' + number
  const transport = new StdioTransport({ config, environment: process.env, mark, watchdog, stderr: new StderrTail() })
  await new Promise((resolve) => {
    const ignore = () => {}
    const opened = transport.open({ onFrame: resolve, onFailure: ignore, onWarning: ignore, onClose: ignore })
    opened.then(() => transport.request({ id: 1, call: PING, text: '{"jsonrpc":"2.0","id":1,"method":"ping"}' }))
  })
})
await Promise.all(answered)
console.log('up')
process.on('SIGUSR2', () => process.exit(0))
setInterval(() => {}, 1_000_000)
`

const folder = mkdtempSync(path.join(tmpdir(), 'gateway-death-'))
const states: string[] = []

writeFileSync(path.join(folder, 'gateway.mjs'), GATEWAY)

afterEach(() => Promise.all(states.splice(0).map((mark) => sweepProcesses({ mark }))))

afterAll(() => rmSync(folder, { recursive: true }))

interface Gateway {
  readonly child: ChildProcess
  readonly state: string
  readonly lines: AsyncIterator<string>
  readonly watchdog: number
}

async function start(...switches: readonly string[]): Promise<Gateway> {
  const state = randomUUID()
  states.push(state)
  const args = [path.join(folder, 'gateway.mjs'), createMark(state, 'run'), HOSTILE_SERVER, ...switches]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  return { child, state, lines, watchdog: Number((await lines.next()).value) }
}

async function startWhole(...switches: readonly string[]): Promise<Gateway> {
  const gateway = await start(...switches)
  expect((await gateway.lines.next()).value).toBe('up')
  return gateway
}

async function kill({ child }: Gateway, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

/** There is no event for the end of processes that are not our children. */
async function nothingLeft({ state }: Gateway, watchdog: number): Promise<void> {
  const left = () => ({ servers: countMarked(state), watchdog: isAlive(watchdog) })
  await expect.poll(() => left()).toEqual({ servers: 0, watchdog: false })
}

function isAlive(pid: number): boolean {
  return readProcessTable()?.some((entry) => entry.pid === pid) ?? false
}

describe('the death of a gateway leaves nothing behind', () => {
  it('when it is killed, whatever its servers have started', async () => {
    const gateway = await startWhole('ignore-term', 'grandchildren', 'daemon')
    expect(countMarked(gateway.state)).toBeGreaterThanOrEqual(8)
    await kill(gateway)
    await nothingLeft(gateway, gateway.watchdog)
  })

  it('when it is killed while its servers start', async () => {
    const gateway = await start('ignore-term', 'grandchildren')
    await expect.poll(() => countMarked(gateway.state), { interval: 1 }).toBeGreaterThan(0)
    await kill(gateway)
    await nothingLeft(gateway, gateway.watchdog)
  })

  it('when it is killed after its watchdog was', async () => {
    const gateway = await startWhole('ignore-term', 'daemon')
    process.kill(gateway.watchdog, 'SIGKILL')
    const second = Number((await gateway.lines.next()).value)
    expect(second).not.toBe(gateway.watchdog)
    await kill(gateway)
    await nothingLeft(gateway, second)
  })

  it('when it exits without closing anything', async () => {
    const gateway = await startWhole('ignore-term', 'daemon')
    await kill(gateway, 'SIGUSR2')
    await nothingLeft(gateway, gateway.watchdog)
  })

  it('after the next start, when it was killed together with its watchdog', async () => {
    const gateway = await startWhole('ignore-term', 'grandchildren', 'daemon')
    process.kill(gateway.child.pid as number, 'SIGSTOP')
    process.kill(gateway.watchdog, 'SIGKILL')
    await kill(gateway)
    expect(countMarked(gateway.state)).toBeGreaterThanOrEqual(8)
    expect(await sweepProcesses({ mark: gateway.state })).toMatchObject({ reach: 'everything', left: 0 })
    await nothingLeft(gateway, gateway.watchdog)
  })
})
