import { createRequire } from 'node:module'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
const entry = { command: process.execPath, args: [everything, 'stdio'] }

describe(`two servers of the reference implementation with the same URIs (${promise('GW-26')})`, () => {
  let gateway: RunningGateway
  let client: Client
  const updates: string[] = []

  beforeAll(async () => {
    gateway = await runGateway({
      config: { mcp_servers: { one: entry, two: entry } },
    })
    client = new Client({ name: 'reader', version: '1' })
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params.uri))
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcp)) as never)
  })

  afterAll(async () => {
    await client?.close()
    await gateway?.stop()
  })

  it('are both listed and read, the second by an address that names it', async () => {
    const uris = (await client.listResources()).resources.map(({ uri }) => uri)
    const plain = uris.filter((uri) => uri.startsWith('demo:'))
    expect(plain.length).toBeGreaterThan(0)
    expect(uris).toEqual(expect.arrayContaining(plain.map((uri) => `sallyport+two:${uri}`)))
    const [uri = ''] = plain
    const read = await client.readResource({ uri: `sallyport+two:${uri}` })
    expect(read).toEqual(await client.readResource({ uri }))
    expect(gateway.records().filter(({ tool_name }) => tool_name === uri)).toEqual(
      expect.arrayContaining([expect.objectContaining({ server: 'one' }), expect.objectContaining({ server: 'two' })]),
    )
    const status = await fetch(`${gateway.url}/api/status`, {
      headers: { authorization: `Bearer ${gateway.token('operator')}` },
    })
    expect(await status.text()).toContain(`two: ${uri} is already offered by one`)
  })

  it('have both their templates, which can be filled in and completed', async () => {
    const templates = (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)
    const own = templates.find((template) => /^demo:.*\{/.test(template)) ?? ''
    expect(templates).toContain(`sallyport+two:${own}`)
    const uri = `sallyport+two:${own.replace(/\{[^}]*\}/, '1')}`
    expect((await client.readResource({ uri })).contents).toHaveLength(1)
    const ref = { type: 'ref/resource', uri: `sallyport+two:${own}` } as const
    const completed = await client.complete({ ref, argument: { name: 'resourceId', value: '1' } })
    expect(completed.completion).toBeDefined()
  })

  it('send updates under the address that the client knows', async () => {
    const uri = 'sallyport+two:demo://resource/dynamic/text/1'
    await client.subscribeResource({ uri })
    await client.callTool({ name: 'two_toggle_subscriber_updates', arguments: {} })
    await eventually(
      () => updates,
      (seen) => seen.includes(uri),
    )
    expect(new Set(updates)).toEqual(new Set([uri]))
    await client.unsubscribeResource({ uri })
  })
})
