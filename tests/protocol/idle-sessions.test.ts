import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const SESSIONS = 1_000
const AT_ONCE = 10
/** Far above what one takes: the heap of a process grows in steps, and other tests run beside this one. */
const GENEROUS = 60_000

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await runGateway()
})

afterAll(() => gateway.stop())

const pid = (): number => gateway.child.pid as number
const descriptors = (): number => readdirSync(`/proc/${pid()}/fd`).length
const residentBytes = (): number => Number(readFileSync(`/proc/${pid()}/statm`, 'utf8').split(' ')[1]) * 4_096

async function sessionCount(): Promise<number> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}`, connection: 'close' }
  const answer = await fetch(`${gateway.url}/api/status`, { headers })
  return ((await answer.json()) as { sessions: number }).sessions
}

/** A few at a time: so many at once would be a test of something else. */
async function inTurns<Item, Result>(items: readonly Item[], act: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map((item) => act(item)))))
  return results
}

/** Resolves when the answer begins. */
function ask(options: RequestOptions, body?: object): Promise<IncomingMessage> {
  const headers = { ...(body && { 'content-type': 'application/json' }), ...options.headers }
  return new Promise((resolve, reject) => {
    const asked = request(gateway.mcp, { ...options, headers }, (answer) => resolve(answer.on('error', () => {})))
    asked.once('error', reject).end(body && JSON.stringify(body))
  })
}

async function open(agent: Agent): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'idle', version: '1' } }
  const answer = await ask({ method: 'POST', agent }, { jsonrpc: '2.0', id: 0, method: 'initialize', params })
  await once(answer.resume(), 'end')
  return String(answer.headers['mcp-session-id'])
}

const listen = (session: string): Promise<IncomingMessage> =>
  ask({ agent: false, headers: { accept: 'text/event-stream', 'mcp-session-id': session } })

async function end(session: string, agent: Agent): Promise<void> {
  const answer = await ask({ method: 'DELETE', agent, headers: { 'mcp-session-id': session } })
  await once(answer.resume(), 'end')
}

it(`${promise('GW-6')} ${SESSIONS} listening sessions need little memory, and leave nothing behind`, async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  onTestFinished(() => agent.destroy())
  const some = Array.from({ length: SESSIONS })
  const opened = await inTurns(some.slice(0, 100), () => open(agent))
  await inTurns(opened, (session) => end(session, agent))
  const before = { descriptors: descriptors(), bytes: residentBytes() }
  const sessions = await inTurns(some, () => open(agent))
  const streams = await inTurns(sessions, listen)
  expect(new Set(streams.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
  const each = (residentBytes() - before.bytes) / SESSIONS
  console.log(`a session that listens: ${(each / 1_000).toFixed(1)} KB`)
  expect(each).toBeLessThan(GENEROUS)
  const ended = streams.map((stream) => once(stream.resume(), 'close'))
  await inTurns(sessions, (session) => end(session, agent))
  await Promise.all(ended)
  expect(await sessionCount()).toBe(0)
  await eventually(descriptors, (now) => now <= before.descriptors)
})
