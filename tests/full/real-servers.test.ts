import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileSimpleSchema, type JsonObject } from '@sallyport/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../processes.ts'
import { promise } from '../promises.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../run-gateway.ts'
import { SDK_CLIENTS, type SdkClient } from '../sdk-client.ts'

const server = (name: string): string =>
  join(REPOSITORY, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`)

let files: string
let gateway: RunningGateway

beforeAll(async () => {
  files = mkdtempSync(join(tmpdir(), 'sallyport-files-'))
  writeFileSync(join(files, 'hello.txt'), 'hello from a file')
  gateway = await runGateway({
    config: {
      mcp_servers: {
        everything: { command: 'node', args: [server('everything')] },
        files: { command: 'node', args: [server('filesystem'), files] },
        memory: { command: 'node', args: [server('memory')], env: { MEMORY_FILE_PATH: join(files, 'memory.jsonl') } },
      },
    },
  })
})

afterAll(async () => {
  await gateway.stop()
  rmSync(files, { recursive: true, force: true })
})

describe.each(Object.entries(SDK_CLIENTS))(`${promise('GW-1')} three servers from npm, used from %s`, (_way, open) => {
  let client: SdkClient

  beforeAll(async () => {
    client = await open(gateway)
    await eventually(
      () => client.plain.listTools(),
      ({ tools }) =>
        ['everything_', 'files_', 'memory_'].every((prefix) => tools.some(({ name }) => name.startsWith(prefix))),
    )
  })

  afterAll(() => client?.close())

  it('lists the tools of all of them and of the gateway under names that tell them apart', async () => {
    const names = (await client.plain.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['everything_echo', 'files_read_text_file', 'memory_read_graph', 'sallyport_read_file']),
    )
    expect(new Set(names).size).toBe(names.length)
  })

  it('lists input schemas that are checked at once, without a thread', async () => {
    const { tools } = await client.plain.listTools()
    const others = tools.filter(({ inputSchema }) => compileSimpleSchema(inputSchema as JsonObject) === undefined)
    expect(others.map(({ name }) => name)).toEqual([])
    expect(tools.length).toBeGreaterThan(36)
  })

  it('calls tools of each', async () => {
    expect(await client.call('everything_echo', { message: 'hi' })).toMatchObject({
      content: [{ type: 'text', text: 'Echo: hi' }],
    })
    const file = await client.call('files_read_text_file', { path: join(files, 'hello.txt') })
    expect(JSON.stringify(file)).toContain('hello from a file')
    expect(await client.call('memory_read_graph')).toMatchObject({
      content: [{ type: 'text' }],
    })
  })

  it('gets the tool errors of a server as they are', async () => {
    const missing = await client.call('files_read_text_file', { path: '/etc/shadow' })
    expect(missing).toMatchObject({ isError: true })
    expect(JSON.stringify(missing)).toContain('Access denied')
  })

  it('lists and reads resources, by template too', async () => {
    const { resources } = await client.plain.listResources()
    expect(resources.length).toBeGreaterThan(0)
    const uri = resources[0]?.uri ?? ''
    expect((await client.plain.readResource({ uri })).contents[0]?.uri).toBe(uri)
    const { resourceTemplates } = await client.plain.listResourceTemplates()
    // The gateway has one of its own.
    const theirs = resourceTemplates.find(({ uriTemplate }) => !uriTemplate.startsWith('sallyport:'))
    const templated = (theirs?.uriTemplate ?? '').replace(/\{[^}]*\}/, '1')
    expect((await client.plain.readResource({ uri: templated })).contents).toHaveLength(1)
  })

  it('lists, gets and completes prompts', async () => {
    const { prompts } = await client.plain.listPrompts()
    const simple = prompts.find(({ name }) => /simple/.test(name))?.name ?? ''
    expect((await client.plain.getPrompt({ name: simple, arguments: {} })).messages.length).toBeGreaterThan(0)
    const completable = prompts.find(({ name }) => /complet/.test(name))?.name ?? ''
    const ref = { type: 'ref/prompt', name: completable }
    const { completion } = await client.plain.complete({ ref, argument: { name: 'department', value: 'E' } })
    expect(completion.values).toContain('Engineering')
  })
})
