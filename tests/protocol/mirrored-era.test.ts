import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const ASKER = join(REPOSITORY, 'tests/fixtures/sdk-asker.mjs')

describe(`${promise('GW-16')} a server of the SDK that speaks both eras over stdio`, () => {
  let gateway: RunningGateway

  beforeAll(async () => {
    const entry = (...args: readonly string[]) => ({ command: process.execPath, args: [ASKER, ...args] })
    const hangs = { ...entry('--legacy-hangs'), timeouts: { startup: '3s' } }
    gateway = await runGateway({ config: { mcp_servers: { dual: entry(), modern: entry('--modern-only'), hangs } } })
    await eventually(
      () => modernRequest(gateway.mcp, 'tools/list'),
      ({ message }) => ['dual_', 'modern_', 'hangs_'].every((name) => JSON.stringify(message).includes(name)),
    )
  })

  afterAll(() => gateway.stop())

  it('can ask a legacy client', async () => {
    expect(await callTool('legacy', 'dual_ask')).toContain('"name":"Ada"')
  })

  it('has one process for clients that cannot be asked, of both eras', async () => {
    expect(await callTool('legacy', 'dual_pid', {})).toBe(await callTool('modern', 'dual_pid', {}))
  })

  it('is called over its modern connection if it refuses the legacy era', async () => {
    expect(await callTool('legacy', 'modern_pid')).toBe(await callTool('modern', 'modern_pid'))
  })

  it('is called over its modern connection if it never answers in the legacy era', async () => {
    expect(await callTool('legacy', 'hangs_pid')).toBe(await callTool('modern', 'hangs_pid'))
  })

  async function callTool(era: 'legacy' | 'modern', name: string, capabilities: object = { elicitation: {} }) {
    const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' }
    const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } })
    if ('elicitation' in capabilities)
      client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }))
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcp)))
    try {
      const { content } = await client.callTool({ name, arguments: {} })
      return (content as readonly { readonly text: string }[])[0]?.text
    } finally {
      await client.close()
    }
  }
})
