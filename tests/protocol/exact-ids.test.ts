import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createLocalEverything, type EverythingServer } from '../harness/everything-server.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { endProcess, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const IDS = ['9007199254740993', '-9007199254740993', '123456789012345678901234567890']
const TOOL = 'one_trigger_long_running_operation'

describe(`ids that a double does not represent (${promise('GW-21')})`, () => {
  let gateway: RunningGateway
  let server: EverythingServer
  let session = ''

  beforeAll(async () => {
    server = createLocalEverything()
    gateway = await runGateway({ config: { mcp_servers: { one: server.entry } } })
    ;({ session } = await LegacyClient.open(gateway.mcp))
  })

  afterAll(async () => {
    await gateway?.stop()
    await server?.close()
  })

  const send = (body: string, headers: Record<string, string> = { 'mcp-session-id': session }): Promise<Response> =>
    fetch(gateway.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body,
    })

  it.each(IDS)('are returned as they were sent: %s', async (id) => {
    for (const method of ['ping', 'tools/list', 'no/such']) {
      const answer = await send(`{ "jsonrpc": "2.0", "id": ${id}, "method": "${method}" }`)
      expect(await answer.text()).toContain(`"id":${id},`)
    }
    const called = await send(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"one_echo","arguments":{"message":"x"}}}`,
    )
    expect(await called.text()).toContain(`"id":${id},"result"`.replace(',"result"', ''))
  })

  it.each(IDS)('are progress tokens and can be cancelled: %s', async (id) => {
    const params = `{"name":"${TOOL}","arguments":{"duration":30,"steps":60},"_meta":{"progressToken":${id}}}`
    const answer = await send(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`)
    const reader = answer.body?.getReader()
    let text = ''
    while (!text.includes(`"progressToken":${id}`)) {
      const { value, done } = (await reader?.read()) ?? { done: true }
      if (done) throw new Error(`no progress: ${text}`)
      text += Buffer.from(value as Uint8Array).toString()
    }
    const again = await send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
    expect(await again.text()).toContain(`The id ${id} is in use`)
    await send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`)
    for (;;) if ((await reader?.read())?.done !== false) break
    expect(await (await send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)).text()).toContain(`"id":${id},`)
  })

  it('are returned over stdio and in the modern era', async () => {
    const window = openWindow(gateway)
    onTestFinished(() => endProcess(window.child))
    const lines: string[] = []
    window.child.stdout?.on('data', (chunk) => lines.push(String(chunk)))
    window.child.stdin?.write('{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}\n')
    await new Promise((resolve) => window.child.stdout?.once('data', resolve))
    expect(lines.join('')).toContain('"id":9007199254740993,')
    const meta =
      '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    const answer = await send(
      `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list","params":{"_meta":${meta}}}`,
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    )
    expect(await answer.text()).toContain('"id":9007199254740993,')
  })

  it('do not open the door for fractions, other numbers, duplicate keys or endless digits', async () => {
    for (const body of [
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping","params":{"x":9007199254740993}}',
      '{"jsonrpc":"2.0","id":9007199254740993,"id":1,"method":"ping"}',
      `{"jsonrpc":"2.0","id":${'9'.repeat(257)},"method":"ping"}`,
      '{"jsonrpc":"2.0","id":9007199254740993.5,"method":"ping"}',
      '{"jsonrpc":"2.0","id":1e400,"method":"ping"}',
      '{"jsonrpc":"2.0","id":[9007199254740993],"method":"ping"}',
    ])
      expect(await (await send(body)).text(), body.slice(0, 100)).toContain('"error"')
  })
})
