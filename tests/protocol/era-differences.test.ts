import { StreamableHTTPClientTransport as ModernHttp, Client as ModernSdkClient } from '@modelcontextprotocol/client'
import { Client as LegacySdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { type ModernUpstream, type ModernUpstreamOptions, openModernUpstream } from '../harness/modern-upstream.ts'
import { eventually } from '../harness/processes.ts'
import { rawRequest, say } from '../harness/raw-http.ts'
import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const repeated = (header: string, type = 'string'): object => ({ type, 'x-mcp-header': header })

const QUERY = {
  name: 'query',
  inputSchema: {
    type: 'object',
    properties: {
      region: repeated('Region'),
      limit: repeated('Limit', 'integer'),
      force: repeated('Force', 'boolean'),
      where: { type: 'object', properties: { zone: repeated('Zone') } },
      text: { type: 'string' },
    },
  },
}
const BROKEN = { name: 'broken', inputSchema: { type: 'object', properties: { a: repeated('My Region') } } }
const NUMBERS = {
  name: 'numbers',
  inputSchema: { type: 'object' },
  outputSchema: { type: 'array', items: { $ref: '#/$defs/number' }, $defs: { number: { type: 'number' } } },
}
const LOOSE = { name: 'loose', inputSchema: { type: 'object' } }
const NUMBERS_RESULT = { structuredContent: [1, 2.5], content: [{ type: 'text', text: '[1,2.5]' }] }

const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

let upstream: ModernUpstream
let gateway: RunningGateway

const paramsOf = ({ headers }: { headers: object }): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-')))
const lastCall = () => upstream.of('tools/call').at(-1) as NonNullable<(typeof upstream.received)[number]>

beforeAll(async () => {
  upstream = await openModernUpstream({
    tools: [QUERY, BROKEN, NUMBERS, LOOSE],
    results: { numbers: NUMBERS_RESULT, loose: { structuredContent: null } },
    ttlMs: 60_000,
  })
  // What may be cut is listed without its output schema.
  gateway = await runGateway({ config: { context: { cap: 'off' }, mcpServers: { up: { url: upstream.url } } } })
  // A busy machine may need longer than a list waits for a server.
  await eventually(
    () => modernRequest(gateway.mcp, 'tools/list'),
    ({ message }) => JSON.stringify(message).includes('up_query'),
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

describe(`arguments that a server requires in headers (${promise('GW-17')})`, () => {
  const args = { region: 'Grüße', limit: 7, force: false, where: { zone: 'b' }, text: 'plain' }
  const written = {
    'mcp-param-region': '=?base64?R3LDvMOfZQ==?=',
    'mcp-param-limit': '7',
    'mcp-param-force': 'false',
    'mcp-param-zone': 'b',
  }
  const calls = () => upstream.of('tools/call').length

  it('are added for a legacy client, which does not send them', async () => {
    const client = await LegacyClient.open(gateway.mcp)
    expect(await client.call('up_query', args)).toMatchObject({ content: [{ text: 'done' }] })
    expect(paramsOf(lastCall())).toEqual(written)
    await client.call('up_query', {})
    expect(paramsOf(lastCall())).toEqual({})
  })

  it('are added for a client over stdio', async () => {
    const window = openWindow({ home: gateway.home, state: gateway.state })
    try {
      await window.initialize()
      await window.request('tools/call', { name: 'up_query', arguments: { region: 'eu' } })
      expect(paramsOf(lastCall())).toEqual({ 'mcp-param-region': 'eu' })
    } finally {
      await window.leave()
    }
  })

  it('are passed on from a client that sends them itself, as its SDK does', async () => {
    const client = new ModernSdkClient(
      { name: 'sdk', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    await client.connect(new ModernHttp(new URL(gateway.mcp)))
    try {
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toContain('up_query')
      await client.callTool({ name: 'up_query', arguments: args })
      expect(paramsOf(lastCall())).toEqual(written)
    } finally {
      await client.close()
    }
  })

  it.each([
    ['is missing', {}],
    ['says something else', { 'mcp-param-region': 'us' }],
    ['cannot be decoded', { 'mcp-param-region': '=?base64?ZXU?=' }],
    ['is not to be there', { 'mcp-param-region': 'eu', 'mcp-param-limit': '7' }],
  ])('are compared with a header that %s', async (_what, headers) => {
    const before = calls()
    const params = { name: 'up_query', arguments: { region: 'eu' } }
    const { status, message } = await modernRequest(gateway.mcp, 'tools/call', params, headers)
    expect([status, message.error?.code]).toEqual([400, -32020])
    expect(JSON.stringify(message)).not.toContain('"eu"')
    expect(calls()).toBe(before)
  })

  it('are compared with a duplicate header', async () => {
    const body = JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: {
        ...{ name: 'up_query', arguments: { region: 'eu' } },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    })
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'up_query' }
    const lines = ['Mcp-Param-Region: eu', 'Mcp-Param-Region: us']
    const { status, body: reply } = await say(gateway.url, rawRequest(gateway.url, { headers, lines, body }))
    expect([status, JSON.parse(reply).error.code]).toEqual([400, -32020])
  })

  it('may be written as base64, or as another form of the same number', async () => {
    const params = { name: 'up_query', arguments: { region: 'eu', limit: 7 } }
    const headers = { 'mcp-param-region': '=?base64?ZXU=?=', 'mcp-param-limit': '7.0' }
    const { status, message } = await modernRequest(gateway.mcp, 'tools/call', params, headers)
    expect([status, message.error]).toEqual([200, undefined])
    expect(paramsOf(lastCall())).toEqual({ 'mcp-param-region': 'eu', 'mcp-param-limit': '7' })
  })

  it('are passed on together with unknown headers of that kind', async () => {
    const headers = { 'Mcp-Param-Other': '=?base64?IHg=?=', 'x-private': 'stays' }
    await modernRequest(gateway.mcp, 'tools/call', { name: 'up_loose', arguments: {} }, headers)
    expect(paramsOf(lastCall())).toEqual({ 'mcp-param-other': '=?base64?IHg=?=' })
    expect(lastCall().headers).not.toHaveProperty('x-private')
  })

  it('hide a tool whose annotation breaks the rules, and no other', async () => {
    const { message } = await modernRequest(gateway.mcp, 'tools/list')
    const names = message.result.tools.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(['up_query', 'up_numbers', 'up_loose']))
    expect(names).not.toContain('up_broken')
    const headers = { authorization: `Bearer ${gateway.token('operator')}` }
    const status = (await (await fetch(`${gateway.url}/api/status`, { headers })).json()) as { warnings: string[] }
    expect(status.warnings.join()).toContain('"broken" is left out: its x-mcp-header "My Region"')
  })
})

describe(`output that is not an object (${promise('GW-17')})`, () => {
  it('reaches a legacy SDK client in the form that its schema names', async () => {
    const client = new LegacySdkClient({ name: 'sdk', version: '1' })
    await client.connect(new LegacyHttp(new URL(gateway.mcp)) as never)
    try {
      const { tools } = await client.listTools()
      expect(tools.find(({ name }) => name === 'up_numbers')?.outputSchema).toMatchObject({ type: 'object' })
      const result = await client.callTool({ name: 'up_numbers', arguments: {} })
      expect(result).toEqual({ content: NUMBERS_RESULT.content, structuredContent: { result: [1, 2.5] } })
      const loose = await client.callTool({ name: 'up_loose', arguments: {} })
      expect(loose.structuredContent).toEqual({ result: null })
    } finally {
      await client.close()
    }
  })

  it('reaches a modern client as it is', async () => {
    const { message } = await modernRequest(gateway.mcp, 'tools/call', { name: 'up_numbers', arguments: {} })
    expect(message.result).toMatchObject({ resultType: 'complete', structuredContent: [1, 2.5] })
    const list = await modernRequest(gateway.mcp, 'tools/list')
    const tool = list.message.result.tools.find(({ name }: { name: string }) => name === 'up_numbers')
    expect(tool.outputSchema).toEqual(NUMBERS.outputSchema)
  })
})

describe(`lists for modern clients (${promise('GW-17')})`, () => {
  it('may be cached as long as the server says, less their age, by the caller only', async () => {
    const { message } = await modernRequest(gateway.mcp, 'tools/list')
    expect(message.result.cacheScope).toBe('private')
    expect(message.result.ttlMs).toBeGreaterThan(0)
    expect(message.result.ttlMs).toBeLessThan(60_000)
    const legacy = await LegacyClient.open(gateway.mcp)
    const { message: listed } = await legacy.request('tools/list')
    expect(Object.keys(listed.result)).toEqual(['tools'])
  })
})

describe(`the trace context of a client (${promise('GW-17')})`, () => {
  const sent = () => lastCall().message.params._meta

  it('reaches a modern server in the message, when it came in headers', async () => {
    const headers = { traceparent: TRACE, tracestate: 'a=1', baggage: 'k=v' }
    await modernRequest(gateway.mcp, 'tools/call', { name: 'up_loose' }, headers)
    expect(sent()).toMatchObject(headers)
    const legacy = await LegacyClient.open(gateway.mcp, { traceparent: TRACE })
    await legacy.call('up_loose')
    expect(sent().traceparent).toBe(TRACE)
  })

  it('is passed on unchanged when the message has one, and is not merged from both', async () => {
    const own = { traceparent: TRACE.replaceAll('a', 'c') }
    const headers = { traceparent: TRACE, tracestate: 'a=1' }
    await modernRequest(gateway.mcp, 'tools/call', { name: 'up_loose', _meta: own }, headers)
    expect(sent()).toMatchObject(own)
    expect(sent()).not.toHaveProperty('tracestate')
    await modernRequest(gateway.mcp, 'tools/call', { name: 'up_loose' }, { traceparent: 'nonsense' })
    expect(sent()).not.toHaveProperty('traceparent')
  })
})

describe(`a modern server that is broken (${promise('GW-17')})`, () => {
  const closers: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  async function gatewayTo(options: ModernUpstreamOptions) {
    const server = await openModernUpstream({ tools: [LOOSE], ...options })
    const running = await runGateway({ config: { mcpServers: { up: { url: server.url } } } })
    closers.push(running.stop, server.close)
    const types = (): readonly unknown[] => running.records().map(({ type }) => type)
    return { server, types }
  }

  it.each([500, 503, 401, 403])('is not treated as a legacy one when it answers %s', async (status) => {
    const { server, types } = await gatewayTo({ discoverStatus: () => status })
    await eventually(types, (seen) => seen.includes('UPSTREAM_LOST') || seen.includes('UPSTREAM_NEEDS_LOGIN'))
    expect(server.of('server/discover').length).toBeGreaterThan(0)
    expect(server.of('initialize')).toEqual([])
  })

  it('is reached when it is back', async () => {
    let status = 500
    const { server, types } = await gatewayTo({ discoverStatus: () => status })
    await eventually(types, (seen) => seen.includes('UPSTREAM_LOST'))
    status = 200
    await eventually(types, (seen) => seen.includes('UPSTREAM_RESTARTED'))
    expect(server.of('initialize')).toEqual([])
  })

  it('is treated as a legacy one when it refuses the discovery request', async () => {
    const { server } = await gatewayTo({ discoverStatus: () => 404 })
    await eventually(
      () => server.of('initialize').length,
      (count) => count > 0,
    )
  })
})
