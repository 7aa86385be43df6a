// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files under test hold references.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { getMcpClient, type McpClient } from './client.ts'
import { type LabelledPair, openLabelledPair } from './labelled-pair.test-kit.ts'
import { openSseServer, type SseServer } from './sse-server.test-kit.ts'

let folder: string
let configPath: string
let pair: LabelledPair
let sse: SseServer
const open: McpClient[] = []

const STDIO_SERVER = `
  import { createMcpServer, READ, serveStdio } from '@sallyport/kit'
  const server = createMcpServer('s', { version: '1' })
  server.tool('greet', { description: 'Greets', permission: READ }, () => process.env.GREETING)
  await serveStdio(server)`

/** Replaces the Docker command: its only tool returns how it was started. */
const DOCKER = `
  import { createMcpServer, READ, serveStdio } from '@sallyport/kit'
  const server = createMcpServer('docker', { version: '1' })
  const report = () => JSON.stringify([process.argv.slice(1), process.env.DOCKER_HOST, process.env.TEAM ?? null])
  server.tool('started', { description: 'Reports', permission: READ }, report)
  await serveStdio(server)`

beforeAll(async () => {
  const old = createMcpServer('old', { version: '1' })
  old.tool('greet', { description: 'Greets', permission: READ }, () => 'hello from before')
  sse = await openSseServer(old)
  folder = await mkdtemp(join(tmpdir(), 'kit-client-'))
  configPath = join(folder, 'config.yaml')
  pair = await openLabelledPair()
  const entries = {
    records: { type: 'client', url: pair.normal.url, url_isolated: '${ISOLATED_URL}', read_timeout: 5 },
    upstream: { url: pair.normal.url, headers: { 'x-team': '${TEAM}' } },
    process: {
      command: process.execPath,
      args: ['--input-type=module', '-e', STDIO_SERVER],
      cwd: join(import.meta.dirname, '..', '..'),
      env: { GREETING: 'hello ${TEAM}' },
    },
    own: { type: 'server', port: 9 },
    docker: {
      type: 'docker-gateway',
      command: [process.execPath, '--input-type=module', '-e', DOCKER, '--', 'mcp', 'gateway', 'run'],
      cwd: join(import.meta.dirname, '..', '..'),
      enabled_servers: ['github', '${TEAM}'],
      block_network: true,
      cpus: 2,
    },
    open: { type: 'docker-gateway', command: 'docker "mcp' },
    maybe: { type: 'docker-gateway', long_lived: 'perhaps' },
    old: { type: 'sse', url: sse.url },
    empty: {},
    late: { url: pair.normal.url, read_timeout: 'soon' },
  }
  await writeFile(configPath, JSON.stringify({ mcp_servers: entries }))
})

afterEach(() => Promise.all(open.splice(0).map((client) => client.close())))

afterAll(async () => {
  await sse.close()
  await pair.close()
  await rm(folder, { recursive: true })
})

async function get(name: string, options: Record<string, unknown> = {}): Promise<McpClient> {
  const environment = { TEAM: 'blue', ISOLATED_URL: pair.isolated.url }
  const client = await getMcpClient(name, { configPath, environment, ...options })
  open.push(client)
  return client
}

test(`opens both instances of a client's entry, with the token: ${promise('KIT-11')}`, async () => {
  const client = await get('records', { bearerToken: 'abc' })
  pair.gates.release(1)
  await client.callTool('load', { id: 1, label: 'SECRET' })
  pair.gates.release(2)
  expect(await client.callTool('load', { id: 2 })).toMatchObject({ content: [{ text: 'isolated' }] })
  expect(pair.isolated.received.every(({ authorization }) => authorization === 'Bearer abc')).toBe(true)
})

test('opens upstreams of the gateway, over HTTP and as a process', async () => {
  expect(await (await get('upstream')).listTools()).toHaveLength(2)
  expect(await (await get('process')).callTool('greet')).toMatchObject({ content: [{ text: 'hello blue' }] })
})

test(`opens a server of the older SSE transport, with the token: ${promise('KIT-8')}`, async () => {
  const client = await get('old', { bearerToken: 'abc' })
  expect(await client.callTool('greet')).toMatchObject({ content: [{ text: 'hello from before' }] })
  expect(new Set(sse.authorizations)).toEqual(new Set(['Bearer abc']))
})

test(`opens the Docker MCP Gateway with the settings of its entry and with Docker's own variables: ${promise('KIT-8')}`, async () => {
  const environment = { TEAM: 'blue', DOCKER_HOST: 'unix:///nowhere.sock' }
  const { content } = await (await get('docker', { environment })).callTool('started')
  expect(JSON.parse(String(content[0]?.text))).toEqual([
    ['mcp', 'gateway', 'run', '--servers', 'github,blue', '--cpus', '2', '--block-network=true'],
    'unix:///nowhere.sock',
    null,
  ])
})

test('answers an unknown name with the names, and a guess', async () => {
  await expect(get('recods')).rejects.toThrow(
    `There is no server "recods" in ${configPath}. Did you mean "records"? It has: records, upstream, process, own, docker, open, maybe, old, empty, late.`,
  )
  await expect(get('__proto__')).rejects.toThrow('There is no server "__proto__"')
})

test.each([
  ['own', 'mcp_servers.own is of type "server", which a client cannot open'],
  ['open', 'mcp_servers.open.command is empty or has an unclosed quote'],
  ['maybe', 'mcp_servers.maybe.longLived must be true or false'],
  ['empty', 'mcp_servers.empty has neither a url nor a command'],
  ['late', 'mcp_servers.late: the timeout of calls is not a valid duration above 0'],
])('reports the problem of the entry %s', async (name, message) => {
  await expect(get(name)).rejects.toThrow(message)
})

test('names the variable that is not set, and its location', async () => {
  await expect(get('records', { environment: {} })).rejects.toThrow(
    /mcp_servers\.records\.url_isolated: .*ISOLATED_URL/,
  )
})

test('says which file cannot be read', async () => {
  await expect(getMcpClient('x', { configPath: join(folder, 'none.yaml') })).rejects.toThrow('none.yaml')
})
