import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { compileSimpleSchema, type JsonObject } from '@sallyport/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openV1, SDK_CLIENTS, type SdkClient } from '../harness/sdk-client.ts'
import { promise } from '../promises.ts'

const server = (name: string): string =>
  join(REPOSITORY, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`)

interface Entry {
  readonly command: string
  readonly args: string[]
  readonly env?: Record<string, string>
}

/** One red dot. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

let files: string
let servers: Record<string, Entry>
/** The same servers, without the gateway. */
let alone: Record<string, Entry>
let gateway: RunningGateway

beforeAll(async () => {
  files = mkdtempSync(join(tmpdir(), 'sallyport-files-'))
  writeFileSync(join(files, 'hello.txt'), 'hello from a file')
  writeFileSync(join(files, 'long.txt'), 'a line of a long file\n'.repeat(5_000))
  writeFileSync(join(files, 'picture.png'), Buffer.from(PICTURE, 'base64'))
  const memory = { command: 'node', args: [server('memory')], env: { MEMORY_FILE_PATH: join(files, 'memory.jsonl') } }
  servers = {
    everything: { command: 'node', args: [server('everything')] },
    files: { command: 'node', args: [server('filesystem'), files] },
    memory,
    thinking: { command: 'node', args: [server('sequential-thinking')], env: { DISABLE_THOUGHT_LOGGING: 'true' } },
  }
  // A memory of its own: what the gateway's server stores must not change what this one returns.
  alone = { ...servers, memory: { ...memory, env: { MEMORY_FILE_PATH: join(files, 'memory-alone.jsonl') } } }
  gateway = await runGateway({ config: { mcp_servers: servers } })
})

afterAll(async () => {
  await gateway.stop()
  rmSync(files, { recursive: true, force: true })
})

describe.each(Object.entries(SDK_CLIENTS))(`${promise('GW-1')} four servers from npm, used from %s`, (_way, open) => {
  let client: SdkClient

  beforeAll(async () => {
    client = await open(gateway)
    await eventually(
      () => client.plain.listTools(),
      ({ tools }) => Object.keys(servers).every((server) => tools.some(({ name }) => name.startsWith(`${server}_`))),
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

type Json = Record<string, any>

/**
 * Calls whose results do not depend on the time. Their arguments are valid: others the gateway refuses itself.
 * The order counts: what is created is read afterwards.
 */
const CALLS: Readonly<Record<string, () => readonly (readonly [string, Json])[]>> = {
  everything: () => [
    ['echo', { message: 'grüße, 世界 🌍 \u2028 \\u0000 "quoted"' }],
    ['get-sum', { a: 2, b: 3 }],
    ['get-tiny-image', {}],
    ['get-structured-content', { location: 'Chicago' }],
    ['get-annotated-message', { messageType: 'error', includeImage: true }],
    ['get-resource-links', { count: 3 }],
  ],
  files: () => [
    ['read_text_file', { path: join(files, 'hello.txt') }],
    ['read_text_file', { path: join(files, 'long.txt') }],
    ['read_text_file', { path: join(files, 'long.txt'), head: 3 }],
    ['read_media_file', { path: join(files, 'picture.png') }],
    ['read_multiple_files', { paths: [join(files, 'hello.txt'), join(files, 'long.txt')] }],
    ['list_directory', { path: files }],
    ['directory_tree', { path: files }],
    ['search_files', { path: files, pattern: '**/*.txt' }],
    ['list_allowed_directories', {}],
    ['write_file', { path: join(files, 'written.txt'), content: 'grüße, 世界 🌍' }],
    ['edit_file', { path: join(files, 'written.txt'), edits: [{ oldText: '世界', newText: 'world' }], dryRun: true }],
    ['read_text_file', { path: join(files, 'missing.txt') }],
    ['read_text_file', { path: '/etc/shadow' }],
  ],
  memory: () => [
    ['create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }] }],
    ['add_observations', { observations: [{ entityName: 'Ada', contents: ['is 世界-famous'] }] }],
    ['search_nodes', { query: 'Ada' }],
    ['open_nodes', { names: ['Ada', 'nobody'] }],
    ['read_graph', {}],
    ['add_observations', { observations: [{ entityName: 'nobody', contents: ['x'] }] }],
  ],
  thinking: () => [
    ['sequentialthinking', { thought: 'first', nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 }],
    ['sequentialthinking', { thought: 'second', nextThoughtNeeded: false, thoughtNumber: 2, totalThoughts: 2 }],
  ],
}

describe.each(Object.keys(CALLS))(`${promise('GW-1')} the server %s from npm`, (name) => {
  let direct: SdkClient
  let through: SdkClient
  const prefix = `${name}_`

  beforeAll(async () => {
    direct = await openV1(new StdioClientTransport(alone[name] as Entry))
    through = await (SDK_CLIENTS['the v1 SDK over HTTP'] as (typeof SDK_CLIENTS)[string])(gateway)
    await eventually(
      () => through.plain.listTools(),
      ({ tools }) => tools.some((tool) => tool.name.startsWith(prefix)),
    )
  })

  afterAll(async () => {
    await direct?.close()
    await through?.close()
  })

  /** The name that the gateway gives it. */
  const named = (own: string): string => prefix + own.replaceAll('-', '_')
  const renamed = (items: readonly Json[]): readonly Json[] =>
    items.map((item) => ({ ...item, name: named(item.name) }))
  const ofServer = (items: readonly Json[]): readonly Json[] => items.filter((item) => item.name.startsWith(prefix))

  it('has the same tools through the gateway as without it, apart from their names', async () => {
    const { tools } = await direct.plain.listTools()
    expect(tools.length).toBeGreaterThan(0)
    // Until the server asks its first question, everybody sees what it offers a client that can do everything.
    const listed = await eventually(
      async () => ofServer((await through.plain.listTools()).tools),
      (all) => all.length === tools.length,
    )
    expect(listed).toEqual(renamed(tools))
  })

  it('has the same prompts, resources and templates, if it has any', async () => {
    const offers = direct.plain.getServerCapabilities()
    if (offers.prompts) {
      const listed = ofServer((await through.plain.listPrompts()).prompts)
      expect(listed).toEqual(renamed((await direct.plain.listPrompts()).prompts))
    }
    if (!offers.resources) return
    const { resources } = await direct.plain.listResources()
    const uris = new Set(resources.map(({ uri }) => uri))
    const listed = (await through.plain.listResources()).resources
    expect(listed.filter(({ uri }) => uris.has(uri))).toEqual(resources)
    const { resourceTemplates } = await direct.plain.listResourceTemplates()
    const templates = (await through.plain.listResourceTemplates()).resourceTemplates
    const names = new Set(resourceTemplates.map(({ uriTemplate }) => uriTemplate))
    expect(templates.filter(({ uriTemplate }) => names.has(uriTemplate))).toEqual(resourceTemplates)
  })

  it('returns the same bytes to a program', async () => {
    for (const [tool, args] of CALLS[name]?.() ?? []) {
      const expected = JSON.stringify(await direct.call(tool, args))
      expect(JSON.stringify(await through.call(named(tool), args)), `${tool} ${JSON.stringify(args)}`).toBe(expected)
    }
  })
})
