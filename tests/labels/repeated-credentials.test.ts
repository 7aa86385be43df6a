import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow, type StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const KEY = `k/${randomBytes(9).toString('hex')}+"${randomBytes(6).toString('hex')}`
const TOKEN = randomBytes(20).toString('hex')
const HIDDEN = '[redacted: credential of the server]'

/** Every form that the server writes, none of which may reach anybody. */
const FORMS = [
  KEY,
  JSON.stringify(KEY).slice(1, -1),
  Buffer.from(`user:${KEY}`).toString('base64').slice(8, -4),
  encodeURIComponent(KEY),
  Buffer.from(KEY).toString('hex'),
  TOKEN,
  Buffer.from(TOKEN).toString('base64').slice(0, -4),
]

const expectNone = (text: string): void => {
  for (const form of FORMS) expect(text).not.toContain(form)
}

describe(`${promise('GOV-18')} a server that repeats its credentials`, () => {
  let gateway: RunningGateway
  let window: StdioClient
  const remote = createServer((request, response) => {
    response.writeHead(403, { 'content-type': 'text/plain' }).end(`no: ${request.headers.authorization}`)
  })

  beforeAll(async () => {
    await once(remote.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(remote.address() as AddressInfo).port}/mcp`
    const config = {
      governance: { enforce: false, patterns: { mcp__echo__tell: { secrets: 'allow' } } },
      mcp_servers: {
        echo: {
          command: process.execPath,
          args: [`${REPOSITORY}tests/fixtures/echoing-server.mjs`],
          // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable.
          env: { A_KEY: '${ITS_KEY}' },
        },
        remote: { url, headers: { authorization: `Bearer ${TOKEN}` } },
      },
    }
    gateway = await runGateway({ config, env: { ITS_KEY: KEY } })
    window = openWindow(gateway)
    await window.initialize({ elicitation: {} })
    await eventually(
      () => window.toolNames(),
      (names) => names.includes('echo_tell'),
    )
  })

  afterAll(async () => {
    await window.leave()
    await gateway.stop()
    remote.close()
  })

  it.each([
    ['tools/list', {}],
    ['prompts/list', {}],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['prompts/get', { name: 'echo_p' }],
    ['resources/read', { uri: 'memo://one' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'echo_p' }, argument: { name: 'x', value: '' } }],
    ['tools/call', { name: 'echo_tell', arguments: {}, _meta: { progressToken: 7 } }],
    ['tools/call', { name: 'echo_refuse', arguments: {} }],
  ])('does not give them away in %s %j', async (method, params) => {
    const answer = await window.request(method, params)
    expect(JSON.stringify(answer)).toContain(HIDDEN)
    expectNone(JSON.stringify(answer))
  })

  it('nor in notifications and questions', async () => {
    const question = window.next(({ method }) => method === 'elicitation/create')
    const answer = window.call('echo_ask')
    const { id, params } = await question
    expect(params.message).toContain(HIDDEN)
    window.answer(id, { result: { action: 'accept', content: {} } })
    expect(JSON.stringify(await answer)).toContain(HIDDEN)
    const progress = window.received.filter(({ method }) => method === 'notifications/progress')
    expect(progress).toHaveLength(1)
    expectNone(JSON.stringify(window.received))
  })

  it('nor in its instructions, in errors about it, in the stored part of its stderr, and in the log', async () => {
    const died = await window.call('echo_die')
    expect(died.isError).toBe(true)
    const headers = { authorization: `Bearer ${gateway.token('operator')}` }
    const servers = await eventually(
      async () => (await fetch(`${gateway.url}/api/servers`, { headers })).text(),
      (text) => text.includes('fatal: I know'),
    )
    expect(servers).toContain('403')
    const other = openWindow(gateway)
    const opened = await other.initialize()
    await other.leave()
    for (const text of [died, servers, opened, gateway.records()]) expectNone(JSON.stringify(text))
    expectNone(gateway.stderr() + window.stderr)
  })
})
