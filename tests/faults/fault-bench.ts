import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY, type RunningGateway, type RunOptions, runGateway } from '../harness/run-gateway.ts'
import { openWindow, type StdioClient } from '../harness/stdio-client.ts'

export type Json = Record<string, any>

const HOSTILE_SERVER = join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')

interface StdioEntryParts {
  readonly timeouts?: object
  readonly [key: string]: unknown
}

/** The entry of a server that misbehaves as its switches say. Without any it is well-behaved. */
export function stdioEntry(switches: readonly string[] = [], { timeouts = {}, ...more }: StdioEntryParts = {}): object {
  const args = [HOSTILE_SERVER, ...switches]
  // On a busy machine a start may take longer than usual, and one that fails counts as a death.
  return { command: process.execPath, args, timeouts: { startup: '50s', ...timeouts }, ...more }
}

/** A gateway with a well-behaved server `good` next to those under test, and an agent's window on it. */
export interface FaultBench {
  readonly gateway: RunningGateway
  readonly window: StdioClient
  /** How the admin API shows a server. */
  server(id: string): Promise<Json>
  /** Waits until a server is in a state, and returns it. */
  until(id: string, state: string): Promise<Json>
  api(path: string, body?: object): Promise<Json>
  /** Runs an attack while others call the good server; fails when one of them is harmed. */
  besiege<Outcome>(attack: () => Promise<Outcome>): Promise<Outcome>
  /** The gateway lives, every call was recorded once at its start and once at its end, nothing was answered twice. */
  expectUnharmed(): Promise<void>
  close(): Promise<void>
}

export async function openFaultBench(servers: object, options: RunOptions & { settings?: object } = {}) {
  const config = { mcp_servers: { good: stdioEntry(), ...servers }, ...options.settings }
  const gateway = await runGateway({ config, ...options })
  const window = openWindow(gateway)
  await window.initialize()
  const operator = { authorization: `Bearer ${gateway.token('operator')}` }
  const api = async (path: string, body?: object): Promise<Json> => {
    const written = { method: 'POST', body: JSON.stringify(body) }
    const headers = { ...operator, 'content-type': 'application/json' }
    const response = await fetch(`${gateway.url}/api${path}`, { headers, ...(body && written) })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Json
  }
  const server = (id: string): Promise<Json> => api(`/servers/${id}`)
  const bench: FaultBench = {
    gateway,
    window,
    api,
    server,
    until: (id, state) =>
      eventually(
        () => server(id),
        (seen) => seen.state === state,
      ),
    besiege: (attack) => besiege(bench, attack),
    expectUnharmed: () => expectUnharmed(bench),
    close: async () => {
      await window.leave()
      await gateway.stop()
    },
  }
  await bench.until('good', 'ready')
  return bench
}

/** The minimum number of calls of bystanders, and how many run at once. */
const BYSTANDERS = 12
const AT_ONCE = 4
/** Only the attack may harm them, not each other. */
const PACE = 5
let lastWord = 0

async function besiege<Outcome>({ gateway, window }: FaultBench, attack: () => Promise<Outcome>): Promise<Outcome> {
  let raging = true
  const callers = Array.from({ length: AT_ONCE }, async (_, index) => {
    for (let calls = 0; raging || calls < BYSTANDERS / AT_ONCE; calls++) {
      const args = { word: ++lastWord }
      const result =
        index % 2 === 0
          ? await window.call('good_echo', args)
          : (await modernRequest(gateway.mcp, 'tools/call', { name: 'good_echo', arguments: args })).message.result
      expect(result, 'what a bystander got').toMatchObject({ content: [{ text: JSON.stringify(args) }] })
      await delay(PACE)
    }
  })
  const outcome = await attack().finally(() => {
    raging = false
  })
  await Promise.all(callers)
  return outcome
}

async function expectUnharmed({ gateway, window, api }: FaultBench): Promise<void> {
  expect(gateway.child.exitCode, gateway.stderr()).toBeNull()
  expect(await (await fetch(`${gateway.url}/healthz`)).text()).toBe('ok')
  const { pid } = await eventually(
    () => api('/status'),
    ({ callsInFlight }) => callsInFlight === 0,
  )
  expect(pid).toBe(gateway.child.pid)
  const isEven = (uneven: readonly unknown[]): boolean => uneven.length === 0
  // Calls without exactly one start and one end in the log: a test may always have some in flight.
  await eventually(() => unevenRecords(gateway.records()), isEven)
  expect(answeredTwice(window), 'ids that were answered more than once').toEqual([])
  expect(gateway.stderr()).not.toMatch(/incident|Unhandled|Uncaught/i)
}

/** On a connection that carries many calls a second answer would be seen. */
function answeredTwice({ received }: StdioClient): readonly unknown[] {
  const ids = received.filter(({ method }) => method === undefined).map(({ id }) => id)
  return ids.filter((id, index) => ids.indexOf(id) !== index)
}

const ENDS = new Set(['TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'])

/** A call for a tool that nobody knows has an end alone: it never started. */
function unevenRecords(records: readonly Json[]): readonly unknown[] {
  const calls = new Map<unknown, { starts: number; ends: number; known: boolean }>()
  for (const { type, call_id, server } of records) {
    if (type !== 'TOOL_CALL_STARTED' && !ENDS.has(type)) continue
    const { starts, ends, known } = calls.get(call_id) ?? { starts: 0, ends: 0, known: true }
    const isStart = type === 'TOOL_CALL_STARTED' ? 1 : 0
    calls.set(call_id, { starts: starts + isStart, ends: ends + 1 - isStart, known: known && server !== '' })
  }
  return [...calls].filter(([, { starts, ends, known }]) => ends !== 1 || starts !== (known ? 1 : 0))
}

/** The named error of a tool's result: in its text for the model, in `_meta` for programs. */
export function errorCode(result: Json): string {
  expect(result).toMatchObject({ isError: true, content: [{ type: 'text' }] })
  const code = result._meta?.['sallyport/error']?.code
  expect(result.content[0].text.startsWith(`[${code}] `), result.content[0].text).toBe(true)
  return code
}

/** The text of a successful result. */
export function textOf(result: Json): string {
  expect(result.isError, JSON.stringify(result).slice(0, 500)).toBeUndefined()
  return result.content[0].text
}

/** What the fixture's tool `pid` reports about its process. */
export async function processBehind(window: Pick<StdioClient, 'call'>, server: string): Promise<Json> {
  return JSON.parse(textOf(await window.call(`${server}_pid`)))
}

/** What a process has in memory, in bytes. */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024
}
