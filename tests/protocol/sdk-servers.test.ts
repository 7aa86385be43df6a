import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest, type RpcAnswer } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { endProcess, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

type Era = 'legacy' | 'modern'

const FORGER = join(REPOSITORY, 'tests/fixtures/forging-server.mjs')
const ERAS: readonly Era[] = ['legacy', 'modern']
/** Both generations of the official SDK, over both transports. A server that is trusted may not pretend either. */
const SERVERS = ['v1-stdio', 'v1-http', 'v2-stdio', 'v2-http', 'v2-trusted']
const ROWS = SERVERS.flatMap((server) => ERAS.map((era) => ({ server, era })))

const key = (): string => `k/${randomBytes(9).toString('hex')}+"${randomBytes(6).toString('hex')}`
const ENV_KEY = key()
const HEADER_KEY = randomBytes(20).toString('base64')
const BEARER = randomBytes(16).toString('base64url')
const HIDDEN = '[redacted: credential of the server]'

const children: ChildProcess[] = []
let gateway: RunningGateway
let legacy: LegacyClient

async function serveHttp(sdk: string): Promise<string> {
  const child = spawn(process.execPath, [FORGER, sdk, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [url] = await once(createInterface({ input: child.stdout as NonNullable<typeof child.stdout> }), 'line')
  return url
}

beforeAll(async () => {
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: references to variables.
  const stdio = (sdk: string): object => ({
    command: process.execPath,
    args: [FORGER, sdk, 'stdio'],
    env: { A_KEY: '${ITS_KEY}' },
  })
  const headers = { authorization: `Bearer ${BEARER}`, 'x-key': '${HEADER_KEY}' }
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: references to variables.
  const servers = {
    'v1-stdio': stdio('v1'),
    'v2-stdio': stdio('v2'),
    'v2-trusted': { ...stdio('v2'), trusted: true },
    'v1-http': { url: await serveHttp('v1'), headers },
    'v2-http': { url: await serveHttp('v2'), headers },
  }
  gateway = await runGateway({ config: { mcp_servers: servers }, env: { ITS_KEY: ENV_KEY, HEADER_KEY } })
  await eventually(
    () => modernRequest(gateway.mcp, 'tools/list'),
    ({ message }) => SERVERS.every((name) => JSON.stringify(message).includes(toolOf(name, 'forge'))),
  )
  legacy = await LegacyClient.open(gateway.mcp)
})

afterAll(async () => {
  await gateway.stop()
  await Promise.all(children.map(endProcess))
})

const toolOf = (server: string, tool: string): string => `${server.replaceAll('-', '_')}_${tool}`

const request = (era: Era, method: string, params: object): Promise<RpcAnswer> =>
  era === 'legacy' ? legacy.request(method, params) : modernRequest(gateway.mcp, method, params)

function call({ server, era }: { server: string; era: Era }, tool: string, meta: object = {}): Promise<RpcAnswer> {
  const _meta = { progressToken: 'p', ...meta }
  return request(era, 'tools/call', { name: toolOf(server, tool), arguments: {}, _meta })
}

const codeOf = ({ message }: RpcAnswer): unknown =>
  message.result?._meta?.['sallyport/error']?.code ?? message.error?.data?.code ?? 'no error'

describe(`${promise('GW-17')} a server made with an official SDK`, () => {
  it.each(ROWS)('cannot pretend to be the gateway: $server to a $era client', async (row) => {
    const { message } = await call(row, 'forge')
    const { structuredContent, ...rest } = message.result
    expect(structuredContent._meta['sallyport/error']).toEqual({ code: 'FORGED' })
    expect(JSON.stringify(rest)).not.toMatch(/sallyport\/[a-z]|6\.6\.6/)
    expect(rest.content[0]).toMatchObject({ text: 'sallyport/ is a word', _meta: { 'com.example/kept': 1 } })
  })

  it.each(ROWS)('cannot do so with an error: $server to a $era client', async (row) => {
    const { message } = await call(row, 'fail')
    expect(JSON.stringify(message)).not.toMatch(/sallyport\/|FORGED/)
    expect(JSON.stringify(message)).toContain('no: ')
  })

  it.each(ROWS)('cannot send a type of result that was not declared: $server to a $era client', async (row) => {
    expect(codeOf(await call(row, 'name_a_type'))).toBe('UPSTREAM_PROTOCOL')
  })

  it.each(ROWS)('cannot send a question to a client that cannot be asked: $server to a $era client', async (row) => {
    const answer = await call(row, 'ask')
    expect(JSON.stringify(answer.message)).not.toContain('password')
    expect(answer.message.result?.resultType).not.toBe('input_required')
    expect(answer.message.result?.isError ?? answer.message.error, JSON.stringify(answer.message)).toBeTruthy()
  })

  it.each(ROWS)('cannot send a notification that was not declared: $server to a $era client', async (row) => {
    const answer = await call(row, 'tell')
    expect(answer.before).toEqual([])
    expect(codeOf(answer)).toBe('no error')
  })

  it.each(ROWS)('receives nothing from a client that only the gateway may send: $server, $era client', async (row) => {
    const { message } = await call(row, 'heard', { 'sallyport/private_data': { x: 1 }, 'com.example/kept': 1 })
    const received = message.result.content[0].text
    expect(JSON.parse(received)['com.example/kept'] ?? 'not passed on by the SDK').toBe(1)
    expect(received).not.toContain('sallyport/')
  })

  it.each(ERAS)('has no reserved keys of the gateway in its definitions, for a %s client', async (era) => {
    const { message } = await request(era, 'tools/list', {})
    const tools = message.result.tools.filter(({ name }: { name: string }) => name.startsWith('v'))
    expect(JSON.stringify(tools)).not.toContain('sallyport/')
    for (const tool of tools) expect(tool._meta).toEqual({ 'com.example/kept': 1 })
  })
})

describe(`${promise('GOV-18')} a server made with an official SDK`, () => {
  const FORMS = [ENV_KEY, HEADER_KEY, BEARER, `Bearer ${BEARER}`].flatMap((value) => {
    const bytes = Buffer.from(value)
    const inner = ['', 'a', 'ab'].flatMap((before) => {
      const text = Buffer.concat([Buffer.from(before), bytes])
        .toString('base64')
        .slice(4, -4)
      return [text, text.replaceAll('+', '-').replaceAll('/', '_')]
    })
    const written = JSON.stringify(value).slice(1, -1)
    return [
      value,
      written,
      JSON.stringify(written).slice(1, -1),
      encodeURIComponent(value),
      bytes.toString('hex'),
      ...inner,
    ]
  })

  it.each(ROWS.flatMap((row) => ['repeat', 'fail'].map((tool) => ({ ...row, tool }))))(
    'cannot leak credentials of its configuration: $tool of $server to a $era client',
    async ({ tool, ...row }) => {
      const { message } = await call(row, tool)
      const text = JSON.stringify(message)
      expect(text).toContain(HIDDEN)
      for (const form of FORMS) expect(text).not.toContain(form)
    },
  )
})
