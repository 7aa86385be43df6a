import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest, post } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { rawRequest } from '../harness/raw-http.ts'
import { MAIN, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const MEGABYTE = 1024 ** 2
const META = 'io.modelcontextprotocol'
const LANES = 8
/** Connections that the tests' own client keeps for later. */
const SPARE = 30

let gateway: RunningGateway
let client: LegacyClient

beforeAll(async () => {
  const server = { command: 'node', args: [join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')] }
  gateway = await runGateway({ config: { context: { cap: 'off' }, mcp_servers: { hostile: server } } })
  client = await LegacyClient.open(gateway.mcp)
  await goesOn()
})

afterAll(() => gateway.stop())

const descriptors = (): number => readdirSync(`/proc/${gateway.child.pid}/fd`).length
const residentMegabytes = (): number => {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) / 1024
}

/** Ordinary calls work, whatever others do at the same time. */
async function goesOn(): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let n = 0; n < 10; n++) {
      const { content } = await client.call('hostile_echo', { n })
      expect(content[0].text).toBe(`{"n":${n}}`)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

/** Opens connections that say this much and then wait, in steps that the backlog takes. */
async function openAll(count: number, text: string): Promise<readonly Socket[]> {
  const { hostname: host, port } = new URL(gateway.url)
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const step = Array.from({ length: Math.min(100, count - sockets.length) }, () =>
      connect({ host, port: Number(port) }),
    )
    await Promise.all(step.map((socket) => once(socket, 'connect')))
    for (const socket of step) {
      socket.on('error', () => {})
      if (text !== '') socket.write(text)
    }
    sockets.push(...step)
  }
  return sockets
}

const backTo = (before: number): Promise<number> => eventually(descriptors, (now) => now <= before + SPARE)

function listenRequest(): string {
  const _meta = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: {} }
  const params = { notifications: { toolsListChanged: true }, _meta }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
  return rawRequest(gateway.url, { body, headers })
}

/** How many calls for something big have come to their end, whatever end that was. */
const bigCalls = (): number =>
  gateway.records().filter(({ type, tool_name }) => type !== 'TOOL_CALL_STARTED' && tool_name === 'mcp__hostile__big')
    .length

describe(`${promise('GW-21')} useless connections`, () => {
  it('1,000 that stop within the head, and 200 that send nothing, block nobody and are ended', async () => {
    const before = descriptors()
    const halves = await openAll(1_000, 'POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ')
    const silent = await openAll(200, '')
    // On a slow machine the gateway may already have ended the first ones.
    let ended = 0
    const received = [...halves.slice(500), ...silent].map(async (socket) => {
      let text = ''
      socket.setEncoding('latin1').on('data', (chunk) => {
        text += chunk
      })
      // One that goes on byte by byte gets no more time for it.
      const drip = setInterval(() => socket.write('x'), 1_000)
      await once(socket, 'close')
      clearInterval(drip)
      ended += 1
      return text
    })
    const dropped = halves.slice(0, 500)
    for (const socket of dropped) socket.resume().once('close', () => (ended += 1))
    await eventually(descriptors, (now) => now >= before + 1_200 - ended)
    await goesOn()
    for (const socket of dropped) socket.destroy()
    await eventually(descriptors, (now) => now <= before + 700 + SPARE)
    for (const text of await Promise.all(received)) expect(text).toMatch(/^HTTP\/1\.1 4\d\d /)
    await goesOn()
    await backTo(before)
  })

  it('500 idle keep-alive connections block nobody', async () => {
    const before = descriptors()
    const idle = await openAll(500, rawRequest(gateway.url, { verb: 'GET', target: '/healthz' }))
    await eventually(descriptors, (now) => now >= before + 500)
    await goesOn()
    for (const socket of idle) socket.destroy()
    await backTo(before)
  })

  it('200 whose bodies do not arrive block nobody', async () => {
    const before = descriptors()
    const headers = { 'content-length': '1000000' }
    const slow = await openAll(200, rawRequest(gateway.url, { headers, body: '{"jsonrpc":' }))
    await goesOn()
    for (const socket of slow) socket.destroy()
    await backTo(before)
  })

  it('2,000 listeners that connected and disconnected leave nothing behind', async () => {
    const before = descriptors()
    const many = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 100) {
        const sockets = await openAll(100, listenRequest())
        await Promise.all(sockets.map((socket) => once(socket, 'data')))
        for (const socket of sockets) socket.destroy()
      }
      await backTo(before)
    }
    await many(500)
    const settled = residentMegabytes()
    await many(2_000)
    expect(residentMegabytes() - settled).toBeLessThan(40)
    expect((await modernRequest(gateway.mcp, 'tools/list')).status).toBe(200)
  })

  it('10 messages of 8 MB that are refused cost little more than their bytes', async () => {
    const settled = residentMegabytes()
    const deep = `{"jsonrpc":"2.0","id":1,"a":${'['.repeat(4_000_000)}${']'.repeat(4_000_000)}}`
    let most = 0
    for (let sent = 0; sent < 10; sent++) {
      expect((await post(gateway.mcp, deep)).status).toBe(400)
      most = Math.max(most, residentMegabytes())
    }
    expect(most - settled).toBeLessThan(150)
  })

  it('50 that never read the 10 MB they asked for cost less memory than that, and affect nobody else', async () => {
    const before = descriptors()
    const settled = residentMegabytes()
    const params = { name: 'hostile_big', arguments: { bytes: 10 * MEGABYTE } }
    const headers = { 'mcp-session-id': client.session }
    const sockets: Socket[] = []
    let most = 0
    for (let id = 1_000; id < 1_050; id++) {
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
      sockets.push(...(await openAll(1, rawRequest(gateway.url, { headers, body }))))
      await eventually(bigCalls, (done) => done > id - 1_000)
      most = Math.max(most, residentMegabytes())
    }
    await goesOn()
    expect(most - settled).toBeLessThan(350)
    for (const socket of sockets) socket.destroy()
    await backTo(before)
  })

  it('a window that never reads the 400 MB it asked for is disconnected, and nobody else is affected', async () => {
    const settled = residentMegabytes()
    const asked = bigCalls()
    const args = [MAIN, 'serve', '--stdio', '--home', gateway.home, '--state', gateway.state]
    const window = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    const params = { name: 'hostile_big', arguments: { bytes: 10 * MEGABYTE } }
    for (let id = 1; id <= 40; id++)
      window.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
    let most = 0
    const done = (): number => {
      most = Math.max(most, residentMegabytes())
      return bigCalls() - asked
    }
    await eventually(done, (count) => count === 40)
    await goesOn()
    window.kill('SIGKILL')
    await once(window, 'exit')
    expect(most - settled).toBeLessThan(400)
  })
})
