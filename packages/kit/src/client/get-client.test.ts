// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files under test hold references.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { getMcpClient, type McpClient } from './client.ts'
import { type LabelledPair, openLabelledPair } from './labelled-pair.test-kit.ts'

let folder: string
let configPath: string
let pair: LabelledPair
const open: McpClient[] = []

const STDIO_SERVER = `
  import { createMcpServer, READ, serveStdio } from '@sallyport/kit'
  const server = createMcpServer('s', { version: '1' })
  server.tool('greet', { description: 'Greets', permission: READ }, () => process.env.GREETING)
  await serveStdio(server)`

beforeAll(async () => {
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
    docker: { type: 'docker-gateway' },
    empty: {},
    late: { url: pair.normal.url, read_timeout: 'soon' },
  }
  await writeFile(configPath, JSON.stringify({ mcp_servers: entries }))
})

afterEach(() => Promise.all(open.splice(0).map((client) => client.close())))

afterAll(async () => {
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
  expect(pair.isolated.arrivals.every(({ authorization }) => authorization === 'Bearer abc')).toBe(true)
})

test('opens upstreams of the gateway, over HTTP and as a process', async () => {
  expect(await (await get('upstream')).listTools()).toHaveLength(2)
  expect(await (await get('process')).callTool('greet')).toMatchObject({ content: [{ text: 'hello blue' }] })
})

test('answers an unknown name with the names, and a guess', async () => {
  await expect(get('recods')).rejects.toThrow(
    `There is no server "recods" in ${configPath}. Did you mean "records"? It has: records, upstream, process, own, docker, empty, late.`,
  )
  await expect(get('__proto__')).rejects.toThrow('There is no server "__proto__"')
})

test.each([
  ['own', 'mcp_servers.own is of type "server", which a client cannot open'],
  ['docker', 'mcp_servers.docker is of type "docker-gateway", which a client cannot open'],
  ['empty', 'mcp_servers.empty has neither a url nor a command'],
  ['late', 'mcp_servers.late: the time-out of calls is no duration above 0'],
])('says what is wrong with the entry %s', async (name, message) => {
  await expect(get(name)).rejects.toThrow(message)
})

test('names the variable that is not set, and the place', async () => {
  await expect(get('records', { environment: {} })).rejects.toThrow(
    /mcp_servers\.records\.url_isolated: .*ISOLATED_URL/,
  )
})

test('says which file cannot be read', async () => {
  await expect(getMcpClient('x', { configPath: join(folder, 'none.yaml') })).rejects.toThrow('none.yaml')
})
