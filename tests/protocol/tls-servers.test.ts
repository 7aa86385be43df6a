import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { type ModernUpstream, openModernUpstream } from '../harness/modern-upstream.ts'
import { eventually } from '../harness/processes.ts'
import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { makeSelfSigned } from '../harness/self-signed.ts'
import { promise } from '../promises.ts'

const ECHO = { name: 'echo', inputSchema: { type: 'object' } }

let upstream: ModernUpstream
let folder: string
const gateways: RunningGateway[] = []

beforeAll(async () => {
  const tls = makeSelfSigned()
  upstream = await openModernUpstream({ tools: [ECHO], tls })
  folder = mkdtempSync(join(tmpdir(), 'sallyport-tls-'))
  writeFileSync(join(folder, 'authority.pem'), tls.cert)
})
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop()
  await upstream.close()
  rmSync(folder, { recursive: true })
})

async function start(env: Readonly<Record<string, string>>): Promise<RunningGateway> {
  const byName = upstream.url.replace('127.0.0.1', 'localhost')
  const mcpServers = { address: { url: upstream.url }, name: { url: byName } }
  const gateway = await runGateway({ config: { mcpServers }, env })
  gateways.push(gateway)
  return gateway
}

describe(`${promise('GW-9')} a server behind TLS`, () => {
  it('accepts calls by name and by address if its certificate authority is known', async () => {
    const gateway = await start({ NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') })
    await eventually(
      () => modernRequest(gateway.mcp, 'tools/list'),
      ({ message }) => /address_echo.*name_echo/.test(JSON.stringify(message)),
    )
    for (const name of ['address_echo', 'name_echo', 'name_echo']) {
      const { message } = await modernRequest(gateway.mcp, 'tools/call', { name, arguments: { text: 'grüße' } })
      expect(message.result?.content).toEqual([{ type: 'text', text: 'done' }])
    }
    expect(upstream.of('tools/call').at(-1)?.message.params.arguments).toEqual({ text: 'grüße' })
  })

  it('is not contacted otherwise, and the error says what to do', async () => {
    const before = upstream.received.length
    const gateway = await start({})
    const status = await eventually(
      async () =>
        (
          await fetch(`${gateway.url}/api/servers`, {
            headers: { authorization: `Bearer ${gateway.token('operator')}` },
          })
        ).text(),
      (text) => text.includes('TLS'),
    )
    expect(status).toContain('could not be trusted (TLS)')
    expect(status).toContain('NODE_EXTRA_CA_CERTS')
    expect(upstream.received.length).toBe(before)
  })
})
