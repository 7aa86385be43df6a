import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { runCommand } from '../harness/run-command.ts'
import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const MEGABYTE = 1_048_576
const CONNECTIONS = 100

/** A request that announces 8 MB, sends 7 of them and stops. Resolves with the status that it is answered with. */
class Stalling {
  readonly status: Promise<number>
  readonly #socket: Socket

  constructor(url: string, authorization: string) {
    const { hostname, port, host, pathname } = new URL(url)
    const socket = connect(Number(port), hostname)
    const head = [
      `POST ${pathname} HTTP/1.1`,
      `host: ${host}`,
      `authorization: ${authorization}`,
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      `content-length: ${8 * MEGABYTE}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    for (let sent = 0; sent < 7; sent++) socket.write(Buffer.alloc(MEGABYTE, ' '))
    this.#socket = socket
    this.status = new Promise((resolve) => {
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
        const found = /^HTTP\/1\.1 (\d+)/.exec(text)
        if (found) resolve(Number(found[1]))
      })
      socket.on('error', () => resolve(0)).on('close', () => resolve(0))
    })
  }

  close(): void {
    this.#socket.destroy()
  }
}

const memoryOf = (pid: number | undefined): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024

describe(`${promise('GW-21')} incoming requests`, () => {
  let gateway: RunningGateway
  let other: string

  beforeAll(async () => {
    gateway = await runGateway({ args: [] })
    const { stdout } = await runCommand([
      'token',
      'create',
      '--agent',
      'codex',
      '--home',
      gateway.home,
      '--state',
      gateway.state,
      '--json',
    ])
    other = `Bearer ${JSON.parse(stdout).token}`
  })

  afterAll(() => gateway.stop())

  it('of one caller cannot fill the memory or keep others waiting, and end when they stall', async () => {
    const before = memoryOf(gateway.child.pid)
    const flood = Array.from(
      { length: CONNECTIONS },
      () => new Stalling(gateway.mcp, `Bearer ${gateway.token('agent')}`),
    )
    const listed = await modernRequest(gateway.mcp, 'tools/list', {}, { authorization: other })
    expect(listed.status).toBe(200)
    const statuses = await Promise.all(flood.map(({ status }) => status))
    expect(new Set(statuses)).toEqual(new Set([429, 408]))
    expect(statuses.filter((status) => status === 408).length).toBeLessThanOrEqual(4)
    expect(memoryOf(gateway.child.pid) - before).toBeLessThan(250 * MEGABYTE)
    for (const connection of flood) connection.close()
    const { status } = await modernRequest(
      gateway.mcp,
      'tools/list',
      {},
      { authorization: `Bearer ${gateway.token('agent')}` },
    )
    expect(status).toBe(200)
  })

  it('are not read at all without a valid token', async () => {
    const flood = Array.from({ length: 20 }, () => new Stalling(gateway.mcp, `Bearer spa_${'x'.repeat(43)}`))
    expect(new Set(await Promise.all(flood.map(({ status }) => status)))).toEqual(new Set([401]))
    for (const connection of flood) connection.close()
  })

  it('are bounded for the API and the answers of web hooks too', async () => {
    const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
    const large = await fetch(`${gateway.url}/api/call`, { method: 'POST', headers, body: ' '.repeat(9 * MEGABYTE) })
    expect([large.status, await large.json()]).toMatchObject([413, { error: { code: 'BODY_TOO_LARGE' } }])
    const hook = await fetch(`${gateway.url}/api/approvals/x/answer`, { method: 'POST', body: ' '.repeat(20_000) })
    expect(hook.status).toBe(413)
    const small = await fetch(`${gateway.url}/api/mode`, {
      method: 'PUT',
      headers,
      body: '{"mode":"ALERT","why":"test"}',
    })
    expect(small.status).toBe(200)
  })
})
