import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, type Place, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { canSandbox } from './sandbox-world.ts'

let place: Place
let gateway: RunningGateway
/** Nobody may reach it. */
let listener: Server
let port: number

beforeAll(async () => {
  listener = createServer((socket) => socket.destroy())
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  port = (listener.address() as AddressInfo).port
  const reaching = { command: process.execPath, args: [join(REPOSITORY, 'tests/fixtures/reaching-server.mjs')] }
  place = makePlace({
    governance: { enforce: true, escalation: { policy_violations: false } },
    mcp_servers: {
      reaching: { ...reaching, sandbox: 'auto' },
      closed: { ...reaching, sandbox: 'auto', network: 'none' },
    },
  })
  const tools = Object.fromEntries(['reaching', 'closed'].map((id) => [`${id}/*`, { requires_approval: false }]))
  writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools }))
  gateway = await runGateway({ place, args: [] })
})

afterAll(async () => {
  await gateway.stop()
  listener.close()
})

interface Asked {
  readonly session: string
  readonly tool: string
  readonly args?: object
  readonly trace?: string
}

async function call({ session, tool, args = {}, trace = newTrace() }: Asked): Promise<string> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ agent: 'codex', session })
  const minted = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body })
  const { token } = (await minted.json()) as { token: string }
  const { message } = await modernRequest(
    gateway.mcp,
    'tools/call',
    { name: tool, arguments: args },
    { authorization: `Bearer ${token}`, traceparent: `00-${trace}-00000000000000ff-01` },
  )
  const { content = [] } = message.result ?? {}
  return content.length === 0
    ? JSON.stringify(message)
    : content.map((block: { text: string }) => block.text).join('\n')
}

let traces = 0
const newTrace = (): string => (++traces).toString(16).padStart(32, 'a')
const recorded = (type: string) => gateway.records().filter((record) => record.type === type)
const target = () => ({ host: '127.0.0.1', port })

describe.skipIf(!canSandbox())(`a connection that a sandbox refuses (${promise('SEN-10')})`, () => {
  it('is named in the error of its call, with what would allow it', async () => {
    const text = await call({ session: 'named', tool: 'reaching_must_reach', args: target() })
    expect(text).toMatch(/^fetch failed\nConnections from the sandbox failed while this call ran: 127\.0\.0\.1:/)
    expect(text).toContain(`127.0.0.1:${port} (it is not a public address (loopback))`)
    expect(text).toContain(`add "127.0.0.1:${port}" to sandbox.proxied.allow`)
    const closed = await call({ session: 'named', tool: 'closed_must_reach', args: target() })
    expect(closed).toContain('In network mode NONE no host can be allowed')
  })

  it('is not named in a result that is no error', async () => {
    expect(await call({ session: 'plain', tool: 'reaching_reach', args: { ...target(), text: '' } })).toBe('403')
  })

  it('is recorded with the trace of its call, by which it is found and explained', async () => {
    const trace = newTrace()
    await call({ session: 'traced', tool: 'reaching_must_reach', args: target(), trace })
    const [record] = recorded('EGRESS_DECIDED').filter(({ trace_id }) => trace_id === trace)
    const [ended] = recorded('TOOL_CALL_COMPLETED').filter(({ trace_id }) => trace_id === trace)
    expect(record).toMatchObject({ host: '127.0.0.1', port, allowed: false, call_id: ended?.call_id })
    const where = ['--home', place.home, '--state', place.state]
    const { stdout } = await runCommand(['explain', trace, ...where])
    expect(stdout).toMatch(new RegExp(`^connections +127\\.0\\.0\\.1:${port} refused: it is not a public address`, 'm'))
  })

  it('is recorded with the traces of all calls in flight in its process, and of no other process', async () => {
    const [waiting, reaching, other] = [newTrace(), newTrace(), newTrace()]
    const waits = call({ session: 'several', tool: 'reaching_wait', trace: waiting })
    const others = call({ session: 'alone', tool: 'reaching_wait', trace: other })
    for (const session of ['several', 'alone'])
      await eventually(
        () => call({ session, tool: 'reaching_is_waiting' }),
        (answer) => answer === 'true',
      )
    const refused = await call({ session: 'several', tool: 'reaching_must_reach', args: target(), trace: reaching })
    await call({ session: 'several', tool: 'reaching_release' })
    await call({ session: 'alone', tool: 'reaching_release' })
    expect(refused).toContain(`127.0.0.1:${port}`)
    expect(await waits).toContain(`127.0.0.1:${port}`)
    expect(await others).toBe('released')
    const named = recorded('EGRESS_DECIDED').flatMap(({ trace_ids }) => (trace_ids as string[] | undefined) ?? [])
    expect(named.sort()).toEqual([waiting, reaching].sort())
  })
})
