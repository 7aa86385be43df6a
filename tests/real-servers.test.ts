import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StreamableHTTPClientTransport as ModernHttp, Client as ModernSdkClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as LegacySdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from './processes.ts'
import { promise } from './promises.ts'
import { MAIN, REPOSITORY, type RunningGateway, runGateway } from './run-gateway.ts'

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

const identity = { name: 'interop', version: '1.0.0' }
const relay = () => ({
  command: process.execPath,
  args: [MAIN, 'serve', '--stdio', '--home', gateway.home, '--state', gateway.state],
})

/** What the two SDKs have in common, as far as it is used here. */
interface SdkClient {
  connect(transport: never): Promise<void>
  close(): Promise<void>
  listTools(): Promise<{ tools: { name: string; inputSchema: object }[] }>
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    ...rest: never[]
  ): Promise<Record<string, unknown>>
  listResources(): Promise<{ resources: { uri: string }[] }>
  readResource(params: { uri: string }): Promise<{ contents: { uri: string }[] }>
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>
  listPrompts(): Promise<{ prompts: { name: string }[] }>
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<{ messages: unknown[] }>
  complete(params: never): Promise<{ completion: { values: string[] } }>
}

const modern = (mode: unknown): SdkClient =>
  new ModernSdkClient(identity, { versionNegotiation: { mode } } as never) as unknown as SdkClient
const v1 = (): SdkClient => new LegacySdkClient(identity) as unknown as SdkClient

const ways: readonly (readonly [title: string, client: () => SdkClient, transport: () => unknown])[] = [
  ['the v1 SDK over HTTP', v1, () => new LegacyHttp(new URL(gateway.mcp))],
  ['the v1 SDK over stdio', v1, () => new LegacyStdio(relay())],
  ['the v2 SDK in the legacy era over HTTP', () => modern('legacy'), () => new ModernHttp(new URL(gateway.mcp))],
  [
    'the v2 SDK in the modern era over HTTP',
    () => modern({ pin: '2026-07-28' }),
    () => new ModernHttp(new URL(gateway.mcp)),
  ],
  ['the v2 SDK in the modern era over stdio', () => modern({ pin: '2026-07-28' }), () => new ModernStdio(relay())],
  ['the v2 SDK that probes, over stdio', () => modern('auto'), () => new ModernStdio(relay())],
]

describe.each(ways)(
  `${promise('GW-1')} three servers from npm, used from %s`,
  (_title, createClient, createTransport) => {
    let client: SdkClient

    beforeAll(async () => {
      client = createClient()
      await client.connect(createTransport() as never)
      await eventually(
        () => client.listTools(),
        ({ tools }) =>
          ['everything_', 'files_', 'memory_'].every((prefix) => tools.some(({ name }) => name.startsWith(prefix))),
      )
    })

    afterAll(() => client.close())

    it('lists the tools of all of them and of the gateway under names that tell them apart', async () => {
      const names = (await client.listTools()).tools.map(({ name }) => name)
      expect(names).toEqual(
        expect.arrayContaining(['everything_echo', 'files_read_text_file', 'memory_read_graph', 'sallyport_read_file']),
      )
      expect(new Set(names).size).toBe(names.length)
    })

    it('calls tools of each', async () => {
      expect(await client.callTool({ name: 'everything_echo', arguments: { message: 'hi' } })).toMatchObject({
        content: [{ type: 'text', text: 'Echo: hi' }],
      })
      const file = await client.callTool({
        name: 'files_read_text_file',
        arguments: { path: join(files, 'hello.txt') },
      })
      expect(JSON.stringify(file)).toContain('hello from a file')
      expect(await client.callTool({ name: 'memory_read_graph', arguments: {} })).toMatchObject({
        content: [{ type: 'text' }],
      })
    })

    it('gets the tool errors of a server as they are', async () => {
      const missing = await client.callTool({ name: 'files_read_text_file', arguments: { path: '/etc/shadow' } })
      expect(missing).toMatchObject({ isError: true })
      expect(JSON.stringify(missing)).toContain('Access denied')
    })

    it('lists and reads resources, by template too', async () => {
      const { resources } = await client.listResources()
      expect(resources.length).toBeGreaterThan(0)
      const uri = resources[0]?.uri ?? ''
      expect((await client.readResource({ uri })).contents[0]?.uri).toBe(uri)
      const { resourceTemplates } = await client.listResourceTemplates()
      expect(resourceTemplates.length).toBeGreaterThan(0)
      const templated = (resourceTemplates[0]?.uriTemplate ?? '').replace(/\{[^}]*\}/, '1')
      expect((await client.readResource({ uri: templated })).contents).toHaveLength(1)
    })

    it('lists, gets and completes prompts', async () => {
      const { prompts } = await client.listPrompts()
      const simple = prompts.find(({ name }) => /simple/.test(name))?.name ?? ''
      expect((await client.getPrompt({ name: simple })).messages.length).toBeGreaterThan(0)
      const completable = prompts.find(({ name }) => /complet/.test(name))?.name ?? ''
      const ref = { type: 'ref/prompt', name: completable }
      const { completion } = await client.complete({ ref, argument: { name: 'department', value: 'E' } } as never)
      expect(completion.values).toContain('Engineering')
    })
  },
)
