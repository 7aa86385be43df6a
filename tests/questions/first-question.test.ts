import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const SERVER = join(REPOSITORY, 'tests/interop/servers/ts1.mjs')

describe(`${promise('GW-16')} the first question of a legacy stdio server of the SDK`, () => {
  let gateway: RunningGateway
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
  const call = async (name: string, options = {}, args = {}): Promise<string> => {
    const { content } = await client.callTool({ name: `it_${name}`, arguments: args }, options)
    return String((content as readonly { readonly text: string }[])[0]?.text)
  }

  beforeAll(async () => {
    const entry = { command: process.execPath, args: [SERVER, 'stdio'], timeouts: { startup: '50s' } }
    gateway = await runGateway({ config: { governance: { enforce: false }, mcp_servers: { it: entry } } })
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }))
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcp)))
    await eventually(
      () => client.listTools(),
      ({ tools }) => tools.some(({ name }) => name === 'it_ask'),
    )
  })

  afterAll(async () => {
    await client.close()
    await gateway.stop()
  })

  it('reaches its client after a cancelled call, and beside other calls of that client', async () => {
    const cancel = new AbortController()
    const cancelled = call('wait', { signal: cancel.signal }).catch((error) =>
      cancel.signal.aborted ? 'cancelled' : String(error),
    )
    await expect.poll(() => call('status')).toBe('waiting 1, cancelled 0')
    cancel.abort()
    expect(await cancelled).toBe('cancelled')
    await expect.poll(() => call('status')).toBe('waiting 0, cancelled 1')
    const beside = call('slow_echo', {}, { text: 'beside' })
    expect(await call('ask')).toBe('hello Ada')
    expect(await beside).toBe('beside')
  })
})
